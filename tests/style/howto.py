# SPDX-License-Identifier: BSD-3-Clause
"""Fails on a document that says what the project does not hold: a path or a link that leads
nowhere, an environment variable that nothing reads, and C++ that is not a marked part of a program
that is compiled.

Usage: howto.py <project root>

In README.md and the documents a block ```cpp is the text between `// example-begin NAME` and
`// example-end` in a program of tests/docs, without its indentation, or a whole program of
examples/ without the line of its licence. In a how-to it may also be lines that stand together in a
file that the how-to names.
"""

import re
import sys
import textwrap
from pathlib import Path

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
PATH = re.compile(r"[\w.*{},-]+(?:/[\w.*{},-]*)+|[\w-]+\.(?:md|txt|hpp|cpp|def|py|json)")
EXAMPLE = re.compile(r"^ *// example-begin \w+\n(.*?)^ *// example-end$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\b(?:QUARRY|CUDA|XDG)_[A-Z][A-Z_0-9]*\b")
GENERATED = ("build/",)


def alternatives(path):
    """The paths that `a/{b,c}.md` stands for."""
    braces = re.search(r"\{([^}]*)\}", path)
    if not braces:
        return [path]
    before, after = path[: braces.start()], path[braces.end() :]
    return [p for part in braces[1].split(",") for p in alternatives(before + part + after)]


def named_paths(text):
    """The paths in backticks: a whole word, or the first one of a command."""
    for quoted in QUOTED.findall(BLOCK.sub("", text)):
        word = quoted.split()[0] if quoted.split() else ""
        if PATH.fullmatch(word) and not word.startswith(GENERATED):
            yield from alternatives(word)


def variables_read(root):
    """Every name that a program, a script or the build could ask for."""
    known = {"CUDA_PATH", "CUDA_HOME", "CUDA_CACHE_PATH"}  # of CUDA itself
    for folder in ["src", "scripts", "tests", "include", "cmake"]:
        for path in (root / folder).rglob("*"):
            if not path.is_file() or path.suffix in (".md", ".bin", ".npy"):
                continue
            text = path.read_text(encoding="utf-8", errors="ignore")
            if folder in ("src", "tests"):
                known.update(re.findall(r'"((?:QUARRY|CUDA|XDG)_[A-Z_0-9]+)"', text))
            elif folder == "include":
                known.update(re.findall(r"(?:#define |defined\()(QUARRY_[A-Z_]+)", text))
            else:
                known.update(VARIABLE.findall(text))
    options = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    return known | set(re.findall(r"^(?:option|set)\((QUARRY_\w+)", options, re.MULTILINE))


def examples(root):
    texts = set()
    for path in (root / "tests/docs").glob("*.cpp"):
        for example in EXAMPLE.findall(path.read_text(encoding="utf-8")):
            texts.add(textwrap.dedent(example))
    for path in (root / "examples").rglob("*.cpp"):
        texts.add(path.read_text(encoding="utf-8").split("\n", 1)[1])
    return texts


def unindented(text):
    """The lines, each between line ends."""
    return "\n" + "".join(line.strip() + "\n" for line in text.splitlines())


def is_quoted(root, text, block):
    """Whether the block stands in a file that a how-to names."""
    files = (root / named for named in named_paths(text) if (root / named).is_file())
    return any(unindented(block) in unindented(file.read_text(encoding="utf-8")) for file in files)


def complaints_about(root, path, variables, programs):
    name, text = path.relative_to(root), path.read_text(encoding="utf-8")
    is_howto = path.parent.name == "howto"
    for link in LINK.findall(text):
        if "://" not in link and not (path.parent / link).exists():
            yield f"{name}: the link {link} leads nowhere"
    for variable in sorted(set(VARIABLE.findall(text)) - variables):
        yield f"{name}: nothing reads {variable}"
    if is_howto or path.name == "README.md":
        for named in named_paths(text):
            if not any(root.glob(named.rstrip("/"))):
                yield f"{name}: there is no {named}"
    for language, block in BLOCK.findall(text):
        if language != "cpp" or block in programs or (is_howto and is_quoted(root, text, block)):
            continue
        yield f"{name}: no program or named file has the lines that begin {block.splitlines()[0]!r}"


def main(root):
    variables, programs = variables_read(root), examples(root)
    paths = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    complaints = [c for p in paths for c in complaints_about(root, p, variables, programs)]
    print(*complaints, f"{len(paths)} documents, {len(complaints)} complaints", sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
