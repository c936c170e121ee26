#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Documents that must say what the program does: the man page, README's tools, the bounds in doc/security.md."""

import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from dbr_lint import BUILD, Tap, code, files, text  # noqa: E402

# Each program with its page and its commands; the engine is there when it was built.
PROGRAMS = {"drawbridge": ("mcp", "call", "tools", "catalogue", "engine"),
            "drawbridge-engine": ("serve", "work", "attach", "backup", "check")}
UNITS = {"kB": 1000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "million": 1000000}
# Numbers of headers that bound nothing that comes from outside.
NO_BOUNDS = {"NODE_MAX_NODES", "PATH_MAX_ARGS"}


def is_built(program):
    return (BUILD / program).is_file()


def run(*arguments, program="drawbridge"):
    environment = dict(os.environ, LC_ALL="C.UTF-8", LANGUAGE="")
    return subprocess.run([str(BUILD / program), *arguments], capture_output=True, text=True, env=environment,
                          check=True, timeout=60).stdout


def options_of_help(program, command):
    told = run(command, "--help", program=program)
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z][a-z-]*)", told, re.M)) - {"--help"}


def man(program="drawbridge"):
    """The page as text: roff's own marks taken away."""
    page = text(f"doc/{program}.1").replace("\\-", "-").replace("\\(aq", "'")
    return re.sub(r"\\f[BIRP]", "", page)


def man_options(program):
    page = man(program)
    # Examples may name other programs' options.
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", re.sub(r"^\.nf\n.*?^\.fi\n", "", page, flags=re.M | re.S)))
    known = {"--help", "--version"}
    for other in filter(is_built, PROGRAMS):
        for command in PROGRAMS[other]:
            known |= options_of_help(other, command)
    for command in PROGRAMS[program]:
        options = options_of_help(program, command)
        section = re.search(rf'^\.SS "{program} {command}\b.*?(?=^\.S[SH] )', page, re.M | re.S)
        if section is None:
            yield f'doc/{program}.1: no .SS "{program} {command} ..."'
            continue
        for option in sorted(options):
            if not re.search(rf"{option}(?![\w-])", section.group()):
                yield f"doc/{program}.1: the section of {command} lacks {option}"
    for option in sorted(told - known):
        yield f"doc/{program}.1: {option} is no option of any command"


def man_variables():
    page = man()
    named = text("schemas/airflow.xml") + text("schemas/engine.xml")
    for name in sorted(set(re.findall(r"\"([A-Z][A-Z0-9]*_[A-Z0-9_]+)\"", named))):
        if name not in page:
            yield f"doc/drawbridge.1: says nothing of {name}"
        if name not in text("README.md"):
            yield f"README.md: says nothing of {name}"


def man_version(program):
    told = re.search(rf'^\.TH {program.upper()} 1 \S+ "(.*?)"', man(program), re.M)
    if told is None or told.group(1) != run("--version").strip():
        yield f"doc/{program}.1: its head does not say {run('--version').strip()}"


def man_commands(program):
    listed = set(re.findall(r"^  (\w+) ", run("--help", program=program), re.M))
    if listed != set(PROGRAMS[program]):
        yield f"{program} --help lists {sorted(listed)}, this test and the man page know {sorted(PROGRAMS[program])}"


def readme_tools():
    table = re.search(r"^### Tools\n(.*?)(?=^#)", text("README.md"), re.M | re.S)
    told = set(re.findall(r"`([a-z_]+)`", "\n".join(
        line.split("|")[1] for line in table.group(1).split("\n") if line.startswith("|"))))
    known = set(re.findall(r"^  ([a-z_]+) +(?:read|write|delete|by method) ", run("tools", "airflow"), re.M))
    for name in sorted(told - known):
        yield f"README.md: the table names {name}, which is no tool"
    for name in sorted(known - told):
        yield f"README.md: the table lacks the tool {name}"


def defines():
    """Every numeric #define of the program: name -> (value, file)."""
    found = {}
    for name in files():
        if not name.startswith(("bridge/", "common/", "engine-client/", "engine/")) or not name.endswith((".c", ".h")):
            continue
        for match in re.finditer(r"^#define ([A-Z][A-Z0-9_]*) +([^\n/]+)$", code(name), re.M):
            expression = re.sub(r"(?<=\d)[uUlL]+\b", "", match.group(2).strip())
            if re.fullmatch(r"[\d\s()*+<>-]+", expression):
                found[match.group(1), name] = eval(expression)  # digits and operators only
    return found


def amount(words):
    match = re.match(r"([\d,.]+)(?: (\w+))?", words)
    return None if match is None else round(float(match.group(1).replace(",", "")) * UNITS.get(match.group(2), 1))


def bounds():
    """Rows of doc/security.md: | what | value | NAME in file |. Each value is the one in the file, none is missing."""
    known, told = defines(), set()
    for row in re.finditer(r"^\| (.+?) \| (.+?) \| `([A-Z][A-Z0-9_]*)` in ([\w/.-]+) \|", text("doc/security.md"), re.M):
        _, value, name, file = row.groups()
        told.add((name, file))
        unit_is_seconds = value.endswith(" s") and name.endswith("_MS")
        said = amount(value)
        if (name, file) not in known:
            yield f"doc/security.md: no #define {name} with a number in {file}"
        elif said is None:
            yield f"doc/security.md: {name}: \"{value}\" is no amount"
        elif said * (1000 if unit_is_seconds else 1) != known[name, file]:
            yield f"doc/security.md: {name} is {known[name, file]}, not {value}"
    for name, file in sorted(set(known) - told):
        if file.endswith(".h") and name not in NO_BOUNDS and re.search(
                r"MAX|LIMIT|TIMEOUT|DRAIN|LIFETIME|CEILING|KEEP_BYTES|RECORD_BYTES|GRACE|^SRV_HTTP_\w+_S$",
                name):
            yield f"doc/security.md: lacks {name} of {file} ({known[name, file]})"


def links():
    """Files that documents name are there."""
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "doc/security.md", "doc/catalogue.md", "doc/benchmarks.md"):
        for found in sorted(set(re.findall(r"\b((?:doc|schemas|tests|bench|po)/[\w/.-]+\.\w+)", text(name)))):
            if found not in FILES and not found.startswith("bench/results"):
                yield f"{name}: {found} is not there"


def lengths():
    """README says how long the catalogues are."""
    said = re.search(r"A catalogue of (\d+) lines.*?example-catalogue\.xml, of (\d+) lines", text("README.md"), re.S)
    small = re.search(r"^```xml\n(<catalogue .*?)^```", text("doc/catalogue.md"), re.M | re.S)
    real = [small.group(1).count("\n"), text("doc/example-catalogue.xml").count("\n")]
    if said is None or [int(number) for number in said.groups()] != real:
        yield f"README.md: the catalogues have {real[0]} and {real[1]} lines"


FILES = set(files())


def main():
    tap = Tap()
    for program in PROGRAMS:
        skip = None if is_built(program) else f"no {program}"
        tap.point(f"the page of {program} has every option of --help, in its command's section, and no other",
                  () if skip else man_options(program), skip)
        tap.point(f"the commands of {program} are those of --help", () if skip else man_commands(program), skip)
        tap.point(f"the page of {program} is of this version", () if skip else man_version(program), skip)
    tap.point("man page and README name every variable of the catalogue", man_variables())
    tap.point("README's table names every tool", readme_tools())
    tap.point("doc/security.md has every bound, with its value", bounds())
    tap.point("files that documents name are there", links())
    tap.point("README counts the lines of the catalogues right", lengths())
    tap.done()


main()
