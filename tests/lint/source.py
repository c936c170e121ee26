#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of the sources that need no tool: licence lines, who includes whom, what is never called, error domains."""

import collections
import os
import pathlib
import re
import subprocess
import sys
import warnings

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from dbr_lint import BUILD, TOP, Tap, code, files, line_of, text  # noqa: E402

FILES = files()
C_FILES = [name for name in FILES if name.endswith((".c", ".h"))]
PROGRAM = [name for name in C_FILES if name.startswith(("bridge/", "common/", "engine/", "engine-client/"))]

# CONTRIBUTING.md's table. A part may include its own headers, those of the parts named, and single headers.
MAY_INCLUDE = {
    "common": (),
    "engine-client": ("common",),
    "engine": ("common",),
    "bridge/protocol": ("common",),
    "bridge/answer": ("common",),
    "bridge/catalogue": ("common", "bridge/answer"),
    "bridge/gate": ("common", "bridge/catalogue", "bridge/protocol/dbr-tool-host.h"),
    "bridge/call": ("common", "engine-client/eng-client.h", "bridge/answer", "bridge/catalogue", "bridge/gate",
                    "bridge/protocol/dbr-tool-host.h"),
    "bridge/cli": ("common", "bridge/answer", "bridge/catalogue", "bridge/gate", "bridge/protocol", "bridge/call"),
}
# Libraries that only some parts may see.
LIBRARIES = {
    r"curl/": ("engine-client/", "tests/"),
    r"gio/|libsoup/": ("engine/", "tests/"),
    r"sqlite3": ("engine/srv-store-", "tests/"),
    r"jansson": ("bridge/", "engine/", "tests/"),
    r"pcre2": ("common/", "bridge/catalogue/"),
    r"libxml/": ("common/", "bridge/catalogue/", "tests/"),
}
# What the program never says; with each, the files that may.
NEVER = [
    ("goto", r"\bgoto\b", (), "use g_autoptr and early returns"),
    ("unbounded copies", r"\b(?:v?sprintf|strcpy|strcat|strncpy|strtok|gets|alloca|g_alloca|g_newa)\s*\(", (), "has no bound"),
    ("new processes", r"\b(?:system|popen|execl\w*|execv\w*|fork|g_spawn_\w+)\s*\(",
     ("bridge/cli/engine.c", "engine/srv-attach.c", "engine/srv-confine.c", "engine/srv-keep.c", "engine/srv-process.c"),
     "starts a process"),
    # The one exception is a child between fork and exec.
    ("a sudden end", r"\b(?:g_error|abort|exit|_exit)\s*\(", ("engine/srv-keep.c",), "ends the process"),
    ("numbers without errors", r"\b(?:atoi|atol|atof|sscanf)\s*\(", (), "knows no error"),
    ("sleeping", r"\b(?:sleep|usleep|nanosleep|g_usleep)\s*\(", (), "blocks the loop"),
    ("printing outside the command line",
     r"\b(?:printf|puts|putchar)\s*\(|\bstdout\b|\bSTDOUT_FILENO\b|\bg_print\s*\(",
     ("bridge/cli/", "bridge/protocol/dbr-stdio.c", "common/dbr-install.c", "engine/main.c", "engine/srv-attach.c",
      "engine/srv-serve.c"),
     "standard output belongs to the protocol"),
    ("printing in mcp", r"\b(?:printf|puts|putchar|g_print)\s*\(|\bstdout\b",
     tuple(name for name in PROGRAM if name != "bridge/cli/mcp.c"), "standard output belongs to the protocol"),
    ("reading the environment elsewhere", r"\b(?:g_)?(?:get|set|put|unset)env\s*\(",
     ("bridge/call/dbr-backend.c", "bridge/gate/dbr-gate.c", "common/dbr-place.c",
      "engine/srv-confine.c", "engine/srv-job.c", "engine/srv-place.c", "engine/srv-preset-render.c"),
     "the environment is read in one place"),
    ("curl outside engine-client", r"\bcurl_\w+\s*\(", ("engine-client/",), "HTTP belongs to engine-client"),
    # jansson loses digits and refuses NUL: what comes in is read by dbr-json-doc. The named of the bridge put JSON
    # that dbr-json-doc has read already into what goes out; those of the engine read back columns that the engine
    # itself wrote (none of them is the text of a body), and presets that are compiled in.
    ("jansson for what comes in", r"\bjson_load\w*\s*\(",
     ("bridge/cli/", "bridge/catalogue/dbr-tool-list.c",
      "engine/srv-engine.c", "engine/srv-plan-set.c", "engine/srv-preset.c", "engine/srv-render.c",
      "engine/srv-replay.c"),
     "incoming JSON is read by dbr-json-doc"),
    ("GIO", r"\b(?:GTask|GCancellable|GFile|GSocket\w*)\b", ("engine/",), "no GIO in the bridge and what it shares"),
    ("guessable randomness", r"(?<!\w)(?:rand|srand|random|g_random_\w+|g_rand_\w+)\s*\(", ("bridge/call/",),
     "what guards something comes from getrandom"),
]
# g_assert is for our own mistakes. A file may hold so many; one more wants a reviewer's eye, and a number here.
ASSERTS = {
    "bridge/answer/dbr-template.c": 2, "bridge/catalogue/dbr-arguments.c": 1, "bridge/protocol/dbr-server.c": 1,
    "common/dbr-json-builder.c": 7, "common/dbr-json-cut.c": 2, "common/dbr-json-path-eval.c": 5,
    "common/dbr-json-path-func.c": 1,
    # Watchers are two, both ours; the two switches name every value; presets are compiled in; the runner's bodies are
    # made of valid text.
    "engine/srv-engine.c": 1, "engine/srv-http.c": 1, "engine/srv-preset.c": 2, "engine/srv-route.c": 1,
    "engine/srv-runner.c": 1,
}
NO_LICENCE_LINE = re.compile(
    r"tests/(data|fuzz/corpus|contract/(golden|snap|catalogue)|protocol/[^/]+/)|LICENSE|\.(json|jsonl|patch)$|^\.gitignore$|"
    r"\.(crt|key|gz)$|^engine/presets/prompt\.txt$|^tests/lint/spelling$|^INSTALL$|^build-aux/|^m4/")


def part_of(name):
    pieces = name.split("/")
    return "/".join(pieces[:2]) if pieces[0] == "bridge" else pieces[0]


def licence():
    for name in FILES:
        if NO_LICENCE_LINE.search(name):
            continue
        try:
            head = "\n".join(text(name).split("\n")[:6])
        except UnicodeDecodeError:
            continue
        if "SPDX-License-Identifier: Apache-2.0" not in head:
            yield f"{name}: no SPDX-License-Identifier in its first lines"


def resolve(name, wanted):
    """An include in quotes, as the compiler finds it."""
    for folder in (str(pathlib.PurePath(name).parent), "common", "engine-client", "bridge", "tests", "."):
        candidate = str(pathlib.PurePath(folder) / wanted)
        if (TOP / candidate).is_file():
            return candidate
    return None


def may_include(part, header):
    return part_of(header) == part or any(
        header == allowed or part_of(header) == allowed for allowed in MAY_INCLUDE[part])


def includes():
    for name in PROGRAM:
        part = part_of(name)
        if part not in MAY_INCLUDE:
            yield f"{name}: the part {part} is in no row of MAY_INCLUDE"
            continue
        body = code(name, strings=True)
        for found in re.finditer(r'^#include "([^"]+)"', body, re.M):
            wanted, where = found.group(1), f"{name}:{line_of(body, found.start())}"
            if wanted == "config.h":
                continue
            header = resolve(name, wanted)
            if header is None:
                yield f"{where}: {wanted} is not there"
            elif not may_include(part, header):
                yield f"{where}: {part} must not know {header}"
            elif header.endswith("-priv.h") and part_of(header) != part:
                yield f"{where}: {header} is private to {part_of(header)}"


def libraries():
    for name in C_FILES:
        body = code(name, strings=True)
        for found in re.finditer(r"^#include <([^>]+)>", body, re.M):
            for pattern, allowed in LIBRARIES.items():
                if re.match(pattern, found.group(1)) and not name.startswith(allowed):
                    yield f"{name}:{line_of(body, found.start())}: only {', '.join(allowed)} may include <{found.group(1)}>"


def first_include():
    for name in C_FILES:
        if not name.endswith(".c"):
            continue
        found = re.search(r"^#include (.*)$", code(name, strings=True), re.M)
        if found and found.group(1).strip() != '"config.h"' and not name.startswith("bench/"):
            yield f"{name}: its first include is {found.group(1)}, not \"config.h\""


def guards():
    for name in C_FILES:
        if name.endswith(".h") and not re.search(r"^#pragma once$", text(name), re.M):
            yield f"{name}: no #pragma once"


def never(pattern, allowed, why):
    for name in PROGRAM:
        if allowed and name.startswith(tuple(allowed)):
            continue
        body = code(name)
        for found in re.finditer(pattern, body):
            yield f"{name}:{line_of(body, found.start())}: {found.group().strip()}: {why}"


def asserts():
    for name in PROGRAM:
        count = len(re.findall(r"\bg_assert\w*\s*\(", code(name)))
        if count > ASSERTS.get(name, 0):
            yield f"{name}: {count} g_assert, {ASSERTS.get(name, 0)} known: can anything from outside reach the new one?"


def domains():
    """One G_DEFINE_QUARK a domain, named as its function is: so no two share a string, and clang-format keeps it."""
    seen = collections.Counter()
    used = {}
    for name in PROGRAM:
        body = code(name)
        for found in re.finditer(r"\bG_DEFINE_QUARK\s*\(([^)]*)\)", body):
            string, function = [piece.strip() for piece in found.group(1).split(",")]
            seen[function] += 1
            if string != function:
                yield f"{name}:{line_of(body, found.start())}: write G_DEFINE_QUARK ({function}, {function})"
        for found in re.finditer(r"\bg_set_error(?:_literal)?\s*\(\s*\w+\s*,\s*([^,]+),\s*([^,]+),", body):
            where = f"{name}:{line_of(body, found.start())}"
            domain, number = found.group(1).strip(), found.group(2).strip()
            used.setdefault(domain, where)
            if re.fullmatch(r"-?\d+", number):
                yield f"{where}: the code {number} is no name"
            if re.search(r"g_quark_from", domain):
                yield f"{where}: a domain made on the spot"
        for found in re.finditer(r"\bg_error_new(?:_literal)?\s*\(\s*([^,]+),\s*([^,]+),", body):
            if re.fullmatch(r"\d+", found.group(2).strip()):
                yield f"{name}:{line_of(body, found.start())}: the code {found.group(2)} is no name"
    for function, count in seen.items():
        if count > 1:
            yield f"{function}_quark is defined {count} times"
    for domain, where in used.items():
        if domain != "G_FILE_ERROR" and re.fullmatch(r"[A-Z_]+", domain) and not seen[domain.lower()]:
            yield f"{where}: the domain {domain} has no G_DEFINE_QUARK"


def potfiles():
    listed = [line for line in text("po/POTFILES.in").split("\n") if line and not line.startswith("#")]
    if listed != sorted(listed):
        yield "po/POTFILES.in is not sorted"
    marked = {name for name in PROGRAM if name.endswith(".c")
              and re.search(r"\b(?:N?_|ngettext|g_dngettext)\s*\(", code(name))}
    marked |= {name for name in FILES if re.fullmatch(r"schemas/[^/]+\.xml", name)}
    for name in sorted(marked - set(listed)):
        yield f"po/POTFILES.in: {name} has messages and is not listed"
    for name in sorted(set(listed) - marked):
        yield f"po/POTFILES.in: {name} has no message, or is not there"


# What these say is read by people: the command line and whoever writes a catalogue. All other text is for models and stays English.
FOR_PEOPLE = ("bridge/cli/", "bridge/catalogue/dbr-catalogue-", "bridge/gate/dbr-gate.c", "bridge/answer/dbr-answer-parse.c",
              "common/dbr-option.c", "common/dbr-token.c", "common/dbr-xml.c", "engine/main.c", "engine/srv-attach.c", "engine/srv-client.c",
              "engine/srv-job.c", "engine/srv-place.", "engine/srv-serve.c", "engine/srv-work.c")


def for_models():
    for name in PROGRAM:
        if not name.startswith(FOR_PEOPLE) and re.search(r"(?<!\w)(?:N?_|g_dngettext|gettext)\s*\(", code(name)):
            yield f"{name}: translates what a model reads (or belongs to FOR_PEOPLE in tests/lint/source.py)"


def gettext_header():
    for name in PROGRAM:
        if re.search(r"(?<!\w)N?_\s*\(", code(name)) and "#include <glib/gi18n.h>" not in code(name, strings=True):
            yield f"{name}: marks messages without <glib/gi18n.h>"


BY_HAND = re.compile(r"\.(?:c|h|am|ac|py|sh|xml|rng|its|loc|md|1|po)$|^bootstrap$|^\.ci/run$|/(?:airflow-lab|install-clients|check-all)$|^bench/run$")
WRITTEN = [name for name in FILES if BY_HAND.search(name) and not NO_LICENCE_LINE.search(name)]


def white_space():
    for name in WRITTEN:
        body = text(name)
        if body and not body.endswith("\n"):
            yield f"{name}: no newline at the end"
        if name.endswith((".am", ".md", ".po")):
            continue
        for number, line in enumerate(body.split("\n"), 1):
            if "\t" in line or line.endswith(" "):
                yield f"{name}:{number}: a tab, or blanks at the end"


def machine():
    for name in WRITTEN:
        if name == "tests/lint/source.py":
            continue
        body = text(name)
        for found in re.finditer(r"(?:deb\.debian|pypi\.|pythonhosted|npmjs|registry\.)[a-z.]+|/(?:work|home|root)/[a-z]\w*", body):
            yield f"{name}:{line_of(body, found.start())}: {found.group()}: a registry's host, or a path of one machine"


def python():
    for name in FILES:
        if name.endswith(".py") and not name.startswith("tests/e2e/airflow/dags/"):  # some are broken on purpose
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    compile(text(name), name, "exec")
            except SyntaxError as error:  # a warning becomes one
                yield f"{name}:{error.lineno}: {error.msg}"


def sizes():
    """A report, no rule: what outgrew a screen or a few hundred lines usually does two things."""
    long_functions = []
    for name in PROGRAM:
        lines = code(name).split("\n")
        begin = None
        if len(lines) > 500:
            print(f"# long file: {name}, {len(lines)} lines")
        for number, line in enumerate(lines):
            if line == "{":
                begin = number
            elif line == "}" and begin is not None:
                if number - begin > 60:
                    long_functions.append(f"{name}:{begin + 1}, {number - begin} lines")
                begin = None
    for function in long_functions:
        print(f"# long function: {function}")
    return ()


def ignored():
    """Made in place, nothing that a build makes would show in git status."""
    if not (TOP / ".git").exists() or BUILD == TOP:
        return
    made = []
    for where, folders, names in os.walk(BUILD):
        inside = pathlib.Path(where).relative_to(BUILD)
        folders[:] = [] if str(inside).startswith(("check", "demo")) else folders
        made += [str(inside / name) for name in names if str(inside / name) not in FILES]
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(TOP), "check-ignore", "--no-index", "-z", "--stdin"],
                            input="\0".join(made), capture_output=True, text=True, check=False)
    for name in sorted(set(made) - set(listed.stdout.split("\0"))):
        yield f".gitignore: lacks {name}, which a build makes"


def main():
    tap = Tap()
    tap.point("every source names its licence", licence())
    tap.point("parts include only what CONTRIBUTING.md's table allows", includes())
    tap.point("libraries are seen only where they belong", libraries())
    tap.point("config.h comes first", first_include())
    tap.point("headers are read once", guards())
    for what, pattern, allowed, why in NEVER:
        tap.point(f"never: {what}", never(pattern, allowed, why))
    tap.point("no g_assert that nobody has looked at", asserts())
    tap.point("error domains are defined once, and codes have names", domains())
    tap.point("messages are marked with gettext's header", gettext_header())
    tap.point("only text for people is translated", for_models())
    tap.point("POTFILES.in is complete and sorted", potfiles())
    tap.point("no tabs, no blanks at the end of a line, a newline at the end of a file", white_space())
    tap.point("no registry's host and no path of one machine", machine())
    tap.point("Python compiles", python())
    tap.point("git ignores what a build makes", ignored())
    tap.point("sizes of files and functions (a report)", sizes())
    tap.done()


main()
