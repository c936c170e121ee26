#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line coverage of every source and part, from gcov alone: coverage.py BUILD SOURCE."""

import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

build, source = (pathlib.Path(folder).resolve() for folder in sys.argv[1:3])
lines = collections.defaultdict(dict)
with tempfile.TemporaryDirectory() as work:
    for notes in sorted(build.rglob("*.gcda")):
        subprocess.run(["gcov", "--json-format", "--object-directory", str(notes.parent), str(notes)],
                       cwd=work, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for report in pathlib.Path(work).glob("*.gcov.json.gz"):
            data = json.loads(gzip.open(report).read())
            for file in data["files"]:
                path = (pathlib.Path(data["current_working_directory"]) / file["file"]).resolve()
                if path.is_relative_to(source) and path.relative_to(source).parts[0] in ("bridge", "common", "engine-client"):
                    for line in file["lines"]:
                        seen = lines[str(path.relative_to(source))]
                        seen[line["line_number"]] = seen.get(line["line_number"], 0) + line["count"]
            report.unlink()
parts = collections.Counter()
for name in sorted(lines):
    ran, known = sum(1 for count in lines[name].values() if count), len(lines[name])
    part = str(pathlib.PurePath(name).parent)
    parts[part, "ran"] += ran
    parts[part, "known"] += known
    print(f"{name:56} {100 * ran / known:5.1f} %  {ran}/{known}")
print()
for part in sorted({key[0] for key in parts}):
    print(f"{part:56} {100 * parts[part, 'ran'] / parts[part, 'known']:5.1f} %")
total_ran, total = (sum(count for key, count in parts.items() if key[1] == kind) for kind in ("ran", "known"))
print(f"{'all':56} {100 * total_ran / max(total, 1):5.1f} %")
