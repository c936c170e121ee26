# SPDX-License-Identifier: Apache-2.0
"""Runs the lab's Dags through Airflow's own API and waits until each run ended as it should.

usage: seed-runs.py URL FOLDER SOURCE

FOLDER is the Dag folder of the lab, SOURCE where those Dags come from. Standard library only. Every
wait is bounded; what did not come about is named and the exit status is 1. A second time is quick:
runs that exist are not started again.
"""
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from dbr_e2e import Airflow  # noqa: E402

# dag, run, wanted state; None: it must only have begun.
RUNS = [
    ("stock_slow", "walk-1", "running"),
    ("orders_daily", "ok-1", "success"),
    ("orders_broken", "bad-1", "failed"),
    ("orders_hidden", "hidden-1", "success"),
    ("stores_mapped", "mapped-1", "failed"),
    ("feed_retrying", "retry-1", "success"),
    ("feed_exhausted", "exhausted-1", "failed"),
    ("late_change", "late-1", "failed"),
    ("late_break", "late-1", "failed"),
    ("log_noise", "noise-1", "success"),
    ("log_secret", "secret-1", "failed"),
    ("odd.name-1.0", "odd:run+1~x", "success"),
    ("pool_missing", "stuck-1", "running"),
]
LAST_OF_MANY = "berth_104"
WAIT_S = 300


def wait_for(what, condition):
    """Asks condition again and again; a string says what is still missing, None that nothing is."""
    end = time.monotonic() + WAIT_S
    missing = "an answer"
    while time.monotonic() < end:
        try:
            missing = condition()
        except (OSError, KeyError, ValueError) as error:
            missing = repr(error)
        if missing is None:
            return
        time.sleep(1)
    sys.exit(f"seed-runs: {what}: after {WAIT_S} s still missing: {missing}")


def missing_dags(api):
    known = {row["dag_id"] for row in api.get("/dags?limit=100&exclude_stale=false&tags=shop&tags=logs&tags=late&tags=größe".replace(
        "größe", "gr%C3%B6%C3%9Fe"))["dags"]}
    absent = sorted({dag for dag, _, _ in RUNS} - known)
    if absent:
        return "Dags " + ", ".join(absent)
    if not api.get("/dags?limit=1&dag_id_pattern=" + LAST_OF_MANY)["dags"]:
        return LAST_OF_MANY
    return None if api.get("/importErrors")["total_entries"] >= 2 else "two import errors"


def resume(api, dag, run, state):
    """A run that must be running, but was stopped with an earlier start of the lab, runs again."""
    if state in ("success", "failed"):
        api.send("POST", f"/api/v2/dags/{dag}/clearTaskInstances",
                 {"dag_run_id": run, "dry_run": False, "only_failed": False, "reset_dag_runs": True})


def missing_states(api):
    late = []
    for dag, run, wanted in RUNS:
        state = api.state(dag, run)
        if state in ("success", "failed") and state != wanted:
            sys.exit(f"seed-runs: run {run} of {dag} ended as {state}, wanted {wanted}")
        if state != wanted:
            late.append(f"{dag}/{run} is {state}")
    walk = api.get("/dags/stock_slow/dagRuns/walk-1/taskInstances/walk")["state"]
    if walk != "running":
        late.append(f"the task of stock_slow is {walk}")
    return ", ".join(late) or None


def change_late(folder, source):
    """Makes the lines marked LATE real in the lab's copies."""
    for name in ("late_change.py", "late_break.py"):
        text = (source / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("# LATE: ", ""), encoding="utf-8")


def missing_late(api):
    if api.get("/dags/late_change/dagVersions")["total_entries"] < 2:
        return "the second version of late_change"
    files = [row["filename"] for row in api.get("/importErrors?limit=100")["import_errors"]]
    return None if any(name.endswith("late_break.py") for name in files) else "the import error of late_break.py"


def main():
    url, folder, source = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    api = Airflow(url)
    wait_for("loading the Dags", lambda: missing_dags(api))
    for dag, run, wanted in RUNS:
        state = api.state(dag, run)
        if state is None:
            api.send("POST", f"/api/v2/dags/{dag}/dagRuns", {"dag_run_id": run, "logical_date": None, "conf": {}})
        elif wanted == "running":
            resume(api, dag, run, state)
    wait_for("running the Dags", lambda: missing_states(api))
    change_late(folder, source)
    wait_for("changing two of them", lambda: missing_late(api))
    print(f"seed-runs: {len(RUNS)} runs are as they should be", file=sys.stderr)


main()
