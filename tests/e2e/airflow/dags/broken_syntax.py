# SPDX-License-Identifier: Apache-2.0
# Does not load, on purpose: a bracket is missing.
from airflow.sdk import dag


@dag(dag_id="never_loaded"
def never_loaded():
    pass
