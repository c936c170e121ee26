# SPDX-License-Identifier: Apache-2.0
"""Fails; after its run the lab gives it one task more, so that its newest version is not the one that ran."""
from __future__ import annotations

from datetime import datetime

from airflow.sdk import dag, task


@dag(dag_id="late_change", schedule=None, start_date=datetime(2026, 1, 1), tags=["late", "broken"])
def late_change():
    @task
    def first():
        raise LookupError("column 'tonnage' is missing")

    first()
    # LATE: task(task_id="second")(lambda: None)()


late_change()
