# SPDX-License-Identifier: BSD-3-Clause
"""Fails unless docs/coverage.md has a row for every name of coverage_names.txt, which says how many
each document has, and unless what the rows name exists.

Usage: coverage.py <project root>

A row is | `name` | Quarry | `header` | `file: Suite.Name` |, under the heading of its document. The
header is a file of include/quarry/, the test one of tests/. In the cell of Quarry every name in
backticks has to be a word of the header or of one that it includes; what is in parentheses, angle
brackets or quotes is not looked at, but for the members that are named there ({.stream = s}). A
cell that begins with "gone:" may have neither header nor test, which is a dash.
"""

import re
import sys
from functools import cache
from pathlib import Path

NAMES = "tests/style/coverage_names.txt"
TABLE = "docs/coverage.md"
DASH = "\u2013"
HEADING = re.compile(r"^# (.+) \((\d+) names\)$", re.MULTILINE)
ROW = re.compile(r"^\| `(.+?)` \| (.*) \| (.*?) \| (.*?) \|$", re.MULTILINE)
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
INCLUDE = re.compile(r"^#include <quarry/([^>]+)>", re.MULTILINE)
QUOTED = re.compile(r'"([^"]*)"')
BRACKETS = re.compile(r"\([^()]*\)|\[[^][]*\]|<[^<>]*>|\{[^{}]*\}")


def listed_names(text):
    """(document, name) of every line; '# DOCUMENT (N names)' is the heading of those behind it."""
    document = None
    for line in text.splitlines()[1:]:
        if heading := HEADING.match(line):
            document = heading[1]
        elif line:
            yield document, line


def rows_of(text):
    """(document, name, what Quarry has, header, test) of every row."""
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        document = section.splitlines()[0].strip()
        for name, quarry, header, test in ROW.findall(section):
            yield document, name, quarry, header.strip("`"), test.strip("`")


class Project:
    def __init__(self, root):
        self.root = root

    def header(self, name):
        """The file of a header, or the one that CMake makes it from; None without either."""
        written, made = self.root / "include/quarry" / name, self.root / "cmake"
        files = [written, made / (Path(name).name + ".in")]
        return next((file for file in files if file.is_file()), None)

    @cache
    def words(self, name):
        """All words of a header and of those that it includes."""
        seen, waiting, words = set(), [name], set()
        while waiting:
            header = waiting.pop()
            file = self.header(header)
            if header in seen or file is None:
                continue
            seen.add(header)
            text = file.read_text(encoding="utf-8")
            words.update(re.findall(r"\w+", text))
            waiting.extend(INCLUDE.findall(text))
        return words

    @cache
    def tests(self, name):
        file = self.root / "tests" / name
        if not file.is_file():
            return None
        return {".".join(test) for test in TEST.findall(file.read_text(encoding="utf-8"))}

    def missing_words(self, quarry, header):
        """The names in backticks that the header does not have."""
        for quoted in re.findall(r"`([^`]+)`", quarry):
            bare = QUOTED.sub("", quoted)
            wanted = re.findall(r"[{,] ?\.(\w+)", bare)
            while BRACKETS.search(bare):
                bare = BRACKETS.sub(" ", bare)
            wanted += re.findall(r"[A-Za-z_]\w*", bare)
            yield from (word for word in wanted if word not in self.words(header))


def complaints_about(project, quarry, header, test):
    is_gone = quarry.startswith("gone: ")
    if not is_gone and "`" not in quarry:
        yield "no name of Quarry"
    if header != DASH:
        if project.header(header) is None:
            yield f"there is no header {header}"
        else:
            for word in project.missing_words(quarry, header):
                yield f"{header} has no {word}"
    elif not is_gone:
        yield "no header"
    if test != DASH:
        file, _, case = test.partition(": ")
        tests = project.tests(file)
        if tests is None:
            yield f"there is no tests/{file}"
        elif case not in tests:
            yield f"tests/{file} has no test {case}"
    elif not is_gone:
        yield "no test"


def main(root):
    listed = (root / NAMES).read_text(encoding="utf-8")
    names = list(listed_names(listed))
    rows = list(rows_of((root / TABLE).read_text(encoding="utf-8")))
    have, project = [row[:2] for row in rows], Project(root)
    documents = [document for document, _ in names]
    complaints = [
        f"{d}: {documents.count(d)} names, not the {count} of {NAMES}"
        for d, count in HEADING.findall(listed)
        if documents.count(d) != int(count)
    ]
    complaints += [f"{d}: no row for {n}" for d, n in names if (d, n) not in have]
    complaints += [f"{d}: {NAMES} has no {n}" for d, n in have if (d, n) not in names]
    complaints += [f"{d}: two rows for {n}" for d, n in set(have) if have.count((d, n)) > 1]
    for document, name, *cells in rows:
        complaints += [f"{document}: {name}: {c}" for c in complaints_about(project, *cells)]
    print(*complaints, f"{len(rows)} rows, {len(complaints)} complaints", sep="\n")
    return 1 if complaints or not rows else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
