# SPDX-License-Identifier: Apache-2.0
"""What the lint tests share: the files of the project, C without comments, and TAP."""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(os.environ.get("G_TEST_SRCDIR") or pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("G_TEST_BUILDDIR") or TOP)
FOLDERS = ("bench", "bridge", "common", "doc", "engine", "engine-client", "po", "schemas", "tests")
GENERATED = {"Makefile.in", "aclocal.m4", "configure", "config.h.in"}


def files():
    """Every source, relative to the top: what git knows, or what a tarball holds."""
    if (TOP / ".git").exists():
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(TOP), "ls-files", "-z",
                                 "--cached", "--others", "--exclude-standard"],
                                capture_output=True, check=False)
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
            return sorted(name for name in names if name and (TOP / name).is_file())
    names = [name for name in os.listdir(TOP) if (TOP / name).is_file() and name not in GENERATED]
    for folder in FOLDERS:
        for where, _, found in os.walk(TOP / folder):
            inside = pathlib.Path(where).relative_to(TOP)
            names += [str(inside / name) for name in found if not name.endswith((".pyc", ".o", ".gmo"))]
    return sorted(names)


def text(name):
    return (TOP / name).read_text(encoding="utf-8")


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code(name, strings=False):
    """A C file without its comments and, unless asked for, without what its strings say; lines stay where they are."""
    def blank(found):
        token = found.group()
        if token[0] in "\"'":
            return token if strings else token[0] + token[0]
        return " " + "\n" * token.count("\n")
    return TOKEN.sub(blank, text(name))


def line_of(body, position):
    return body.count("\n", 0, position) + 1


class Tap:
    """Test Anything Protocol: one line a rule, what is wrong above it."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def point(self, what, problems=(), skip=None):
        self.count += 1
        problems = list(problems)
        for problem in problems:
            print(f"# {problem}")
        self.failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {self.count} - {what}" + (f" # SKIP {skip}" if skip else ""), flush=True)

    def done(self):
        print(f"1..{self.count}")
        sys.exit(0)
