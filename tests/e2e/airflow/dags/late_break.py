# SPDX-License-Identifier: Apache-2.0
"""Fails; after its run the lab breaks this file, so that the Dag stays known while its file does not load."""
from __future__ import annotations

from datetime import datetime

from airflow.sdk import dag, task

# LATE: import tonnage_tables_not_installed


@dag(dag_id="late_break", schedule=None, start_date=datetime(2026, 1, 1), tags=["late", "broken"])
def late_break():
    @task
    def only():
        raise ZeroDivisionError("no crane was counted")

    only()


late_break()
