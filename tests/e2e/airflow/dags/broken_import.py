# SPDX-License-Identifier: Apache-2.0
# Does not load, on purpose: the second module is nowhere.
from airflow.sdk import dag  # noqa: F401  (Airflow only looks at files that name it and a dag)

import harbour_module_that_is_nowhere  # noqa: F401
