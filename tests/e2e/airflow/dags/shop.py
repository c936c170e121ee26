# SPDX-License-Identifier: Apache-2.0
"""The Dags of a small shop: one that works, and one for each way in which a run goes wrong."""
from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta

from airflow.sdk import Param, dag, task

log = logging.getLogger("shop")
START = datetime(2026, 1, 1)


@dag(dag_id="orders_daily", schedule=None, start_date=START, tags=["shop", "prod"],
     description="Collects the orders of a day; it always succeeds.", default_args={"owner": "shop-team"})
def orders_daily():
    @task
    def collect():
        log.info("collected 4 orders")
        return [{"order": n, "cents": 250 * n} for n in range(1, 5)]

    @task
    def total(orders):
        log.info("adding up %d orders", len(orders))
        return {"orders": len(orders), "cents": sum(o["cents"] for o in orders), "place": "Köln ✓"}

    @task
    def publish(summary):
        print("published", summary)
        return "lab://orders/latest.json"

    publish(total(collect()))


@dag(dag_id="orders_broken", schedule=None, start_date=START, tags=["shop", "broken"],
     description="Its convert task raises; a cleanup task fails after it.", default_args={"owner": "shop-team"})
def orders_broken():
    @task
    def collect():
        return {"rate": "EUR"}

    @task
    def convert(table):
        log.warning("converting with table %s", table)

        def look_up(currency, depth):
            if depth:
                return look_up(currency, depth - 1)
            try:
                return table[currency]
            except KeyError as error:
                raise ValueError(f"no exchange rate for '{currency}' in the table of <today> & \"before\"") from error

        return look_up("XTS", 12)

    @task
    def publish(amount):
        log.info("never reached, %s", amount)

    @task(trigger_rule="all_done")
    def release_lock():
        raise OSError("lock file /var/lock/orders is gone")

    converted = convert(collect())
    publish(converted)
    converted >> release_lock()


@dag(dag_id="orders_hidden", schedule=None, start_date=START, tags=["shop", "broken"],
     description="A task fails, yet the run says success: its only leaf runs whatever happened.")
def orders_hidden():
    @task
    def weigh():
        raise RuntimeError("the scale answered nothing")

    @task(trigger_rule="all_done")
    def report():
        log.info("report written")

    weigh() >> report()


@dag(dag_id="stores_mapped", schedule=None, start_date=START, tags=["shop", "mapped"], max_active_tasks=4,
     description="One task a store; those of three stores fail alike, one of another kind.")
def stores_mapped():
    @task
    def stores():
        return list(range(9))

    @task(map_index_template="{{ 'store-' ~ task.op_kwargs['store'] }}")
    def count_stock(store: int):
        log.info("counting store %d", store)
        if store in (2, 4, 6):
            raise RuntimeError(f"stock file of store {store} ends after {store * 100} bytes")
        if store == 7:
            raise PermissionError("store 7 is closed")
        return store * 10

    @task
    def add_up(counts):
        log.info("never reached, %s", counts)

    add_up(count_stock.expand(store=stores()))


@dag(dag_id="feed_retrying", schedule=None, start_date=START, tags=["shop", "retry"],
     default_args={"retries": 3, "retry_delay": timedelta(seconds=1)})
def feed_retrying():
    @task
    def fetch(ti):
        log.info("this is try %d", ti.try_number)
        if ti.try_number < 3:
            raise ConnectionError(f"the feed answered 503 on try {ti.try_number}")
        return "fetched"

    fetch()


@dag(dag_id="feed_exhausted", schedule=None, start_date=START, tags=["shop", "retry", "broken"],
     default_args={"retries": 1, "retry_delay": timedelta(seconds=1)})
def feed_exhausted():
    @task
    def fetch(ti):
        raise TimeoutError(f"no byte within 5 s, try {ti.try_number}")

    fetch()


@dag(dag_id="stock_slow", schedule=None, start_date=START, tags=["shop", "slow"],
     description="Runs for six hours, a line every two seconds.")
def stock_slow():
    @task
    def walk():
        for step in range(10800):
            log.info("shelf %d is counted", step)
            time.sleep(2)

    walk()


@dag(dag_id="report_params", schedule=None, start_date=START, tags=["shop", "params"],
     params={
         "country": Param("DE", type="string", enum=["DE", "FR", "JP"], title="Country", description="whose report"),
         "rows": Param(10, type="integer", minimum=1, maximum=100),
         "dry": Param(False, type="boolean"),
         "names": Param(["a"], type="array", items={"type": "string"}),
         "reason": Param(type="string", minLength=3, description="has no default"),
     })
def report_params():
    @task
    def show(params, dag_run):
        print("params:", dict(params))
        print("conf:", dag_run.conf)

    show()


@dag(dag_id="nightly_paused", schedule="0 3 * * *", start_date=START, catchup=False, tags=["shop", "night"],
     is_paused_upon_creation=True, description="Paused from the start.")
def nightly_paused():
    @task
    def sweep():
        log.info("swept")

    sweep()


@dag(dag_id="pool_missing", schedule=None, start_date=START, tags=["shop", "stuck"],
     description="Its task waits for a pool that does not exist.")
def pool_missing():
    @task(pool="no_such_pool")
    def wait_for_pool():
        pass

    wait_for_pool()


orders_daily()
orders_broken()
orders_hidden()
stores_mapped()
feed_retrying()
feed_exhausted()
stock_slow()
report_params()
nightly_paused()
pool_missing()
