# SPDX-License-Identifier: BSD-3-Clause
"""Compares a program with the NumPy program beside it.

    against_numpy.py PROGRAM FOLDER [--seed N]   runs it; ctest does
    against_numpy.py --write                     writes input.npy and output.txt of every folder

The program prints what FOLDER/output.txt has, which is what NumPy's program printed for
FOLDER/input.npy and the arguments in its first line: whole numbers and words are the same, others
agree to 5 digits. It has at most 20 % more lines of code. Where NumPy 2 is installed both are run
on inputs that are drawn anew, too; --seed draws those that a failure has named.
"""

import argparse
import math
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
STORED_SEED, DRAWN_RUNS = 1, 3
TOKEN = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|inf|nan)|\w+|[^\w\s]")


def is_same(a, b):
    if a == b:
        return True
    try:
        return not (a.isdigit() and b.isdigit()) and math.isclose(
            float(a), float(b), rel_tol=1e-5, abs_tol=1e-8
        )
    except ValueError:
        return False


def difference(got, want):
    """The first one in words, or None."""
    got, want = TOKEN.findall(got), TOKEN.findall(want)
    for place, (a, b) in enumerate(zip(got, want)):
        if not is_same(a, b):
            before = " ".join(want[max(place - 12, 0) : place])
            return f"after '{before}' it prints {a}, NumPy {b}"
    return None if len(got) == len(want) else f"{len(got)} words, NumPy prints {len(want)}"


def lines_of_code(path):
    comment = "#" if path.suffix == ".py" else "//"
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return sum(bool(line) and not line.startswith(comment) for line in lines)


def printed(command, arguments):
    run = subprocess.run([*command, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if run.returncode:
        sys.exit(f"{command[-1]} ended with {run.returncode}")
    return run.stdout


def numpys(folder, arguments):
    return printed([sys.executable, "-W", "ignore", folder / f"{folder.name}.py"], arguments)


def draw_input(name, seed, path):
    """Writes it, and returns the arguments of the programs."""
    import numpy as np

    import inputs

    array, arguments = getattr(inputs, name)(np.random.default_rng(seed))
    if array is None:
        return arguments
    np.save(path, array)
    return [path, *arguments]


def write():
    for folder in sorted(path.parent for path in HERE.glob("*/*.py")):
        if not (folder / f"{folder.name}.cpp").exists():
            continue
        arguments = draw_input(folder.name, STORED_SEED, folder / "input.npy")
        text = numpys(folder, arguments)
        named = " ".join(getattr(a, "name", str(a)) for a in arguments)
        (folder / "output.txt").write_text(f"{named}\n{text}", encoding="utf-8")


def has_numpy_2():
    try:
        import numpy
    except ImportError:
        return False
    return int(numpy.__version__.split(".")[0]) >= 2


def complaints_about(program, folder, seed):
    python, cpp = (lines_of_code(folder / f"{folder.name}{end}") for end in (".py", ".cpp"))
    print(f"{folder.name}: {cpp} lines of code, NumPy {python}")
    if cpp > python * 1.2:
        yield f"{cpp} lines, at most {int(python * 1.2)}"
    named, want = (folder / "output.txt").read_text(encoding="utf-8").split("\n", 1)
    stored = [folder / a if a.endswith(".npy") else a for a in named.split()]
    if found := difference(printed([program], stored), want):
        yield f"stored input: {found}"
    if not has_numpy_2():
        print("no NumPy 2: nothing is drawn")
        return
    with tempfile.TemporaryDirectory() as scratch:
        for drawn in range(seed, seed + DRAWN_RUNS):
            arguments = draw_input(folder.name, drawn, Path(scratch) / "input.npy")
            if found := difference(printed([program], arguments), numpys(folder, arguments)):
                yield f"--seed {drawn}: {found}"
    print(f"{DRAWN_RUNS} drawn inputs from seed {seed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        return write()
    complaints = list(complaints_about(options.program, options.folder.resolve(), options.seed))
    return "\n".join(complaints) or None


if __name__ == "__main__":
    sys.exit(main())
