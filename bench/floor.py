# SPDX-License-Identifier: Apache-2.0
"""The floor: a stdio server that hands on one GET's body through libcurl and does nothing else (doc/benchmarks.md)."""

import os
import shlex
import shutil
import subprocess


def build_floor(build):
    """The floor program, if its source is there and libcurl can be linked; else None and why."""
    source = os.path.join(os.environ.get("DBR_SHARED", ""), "bench", "floormcp.c")
    program = os.path.join(build, "bench", "floormcp")
    if not os.path.isfile(source):
        return None, f"no floor program ({source}): comparisons with it are skipped"
    compiler = shlex.split(os.environ.get("CC") or shutil.which("cc") or "gcc")
    done = subprocess.run([*compiler, "-O2", "-w", "-o", program, source, "-lcurl"], check=False)
    if done.returncode != 0:
        return None, "the floor program does not build: comparisons with it are skipped"
    return program, None
