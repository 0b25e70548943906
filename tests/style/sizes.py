# SPDX-License-Identifier: BSD-3-Clause
"""Fails on a file over 400 lines, a line over 100 columns, a file without its licence line, and a
file in the root that is neither a document nor one of the build: what a tool has left there.

Usage: sizes.py <project root>
"""

import sys
from pathlib import Path

FOLDERS = ["include", "src", "tools", "kernels", "tests", "bench", "examples"]
SUFFIXES = {".hpp", ".cpp", ".def", ".cu", ".cuh", ".h", ".py"}
MAX_LINES = 400
MAX_COLUMNS = 100
ROOT_SUFFIXES = {"", ".md", ".txt", ".json"}
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"


def complaints_about(path, name):
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_LINES:
        yield f"{name}: {len(lines)} lines, {MAX_LINES} at most"
    if not any(LICENCE in line for line in lines[:2]):
        yield f"{name}:1: no line '{LICENCE}'"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_COLUMNS:
            yield f"{name}:{number}: {len(line)} columns, {MAX_COLUMNS} at most"


def main(root):
    paths = sorted(p for f in FOLDERS for p in (root / f).rglob("*") if p.suffix in SUFFIXES)
    complaints = [c for path in paths for c in complaints_about(path, path.relative_to(root))]
    strays = sorted(p for p in root.iterdir() if p.is_file() and p.suffix not in ROOT_SUFFIXES)
    complaints += [f"{path.name}: does not belong into the root" for path in strays]
    print(*complaints, f"{len(paths)} files, {len(complaints)} complaints", sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
