# SPDX-License-Identifier: Apache-2.0
"""What both benchmarks print: figures, their targets, and whether each is reached."""


class Table:
    """Rows of figure, value, target, and whether it is reached (None: not compared)."""

    def __init__(self, mine="drawbridge", beside="floor"):
        self.rows = []
        self.columns = ("figure", mine, beside, "target", "reached")

    def add(self, figure, value, target, reached, beside=""):
        self.rows.append({"figure": figure, "value": value, "floor": beside, "target": target, "reached": reached})

    def show(self):
        words = {True: "yes", False: "NO"}
        lines = [self.columns]
        lines += [
            (r["figure"], r["value"], r["floor"], r["target"], words.get(r["reached"], "skipped" if r["target"] else ""))
            for r in self.rows
        ]
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        lines.insert(1, tuple("-" * width for width in widths))
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


def against(value, limit):
    return None if limit is None else value <= limit
