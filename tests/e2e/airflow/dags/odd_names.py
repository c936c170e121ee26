# SPDX-License-Identifier: Apache-2.0
"""Names as people write them: other scripts, dots, dashes, tags with a slash."""
from __future__ import annotations

from datetime import datetime

from airflow.sdk import dag, task


@dag(dag_id="odd.name-1.0", dag_display_name="Übersicht 港 \U0001f6a2", schedule=None, start_date=datetime(2026, 1, 1),
     tags=["größe", "港", "a/b", "with space"], description="Prüft “quotes” – and émojis \U0001f600")
def odd_name():
    @task(task_id="group.task-1", task_display_name="Aufgabe Ä")
    def greet():
        print("Grüße aus 港")
        return {"schlüssel": "wert ✓"}

    greet()


odd_name()
