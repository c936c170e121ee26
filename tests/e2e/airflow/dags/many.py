# SPDX-License-Identifier: Apache-2.0
"""More Dags than the largest page of the API holds."""
from __future__ import annotations

from datetime import datetime

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

for number in range(105):
    with DAG(dag_id=f"berth_{number:03d}", schedule=None, start_date=datetime(2026, 1, 1),
             tags=["berth", f"quay-{number % 5}"]) as berth:
        EmptyOperator(task_id="moor") >> EmptyOperator(task_id="leave")
    globals()[berth.dag_id] = berth
