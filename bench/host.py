# SPDX-License-Identifier: BSD-3-Clause
"""Times the CPU device beside NumPy, xtensor and Eigen, and writes RESULTS/host.json.
Usage: host.py BUILD RESULTS [--only TEXT]

Every library is a program that waits for the name of a row (bench/host_rows.hpp) and answers with
the shortest time of a call. The programs take turns, three times a row, so that what else the
machine does meets all of them; the shortest time counts. bench/host_report.py has the table."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

from host_report import report

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 3
ONE_THREAD = {name: "1" for name in ("QUARRY_NUM_THREADS", "OMP_NUM_THREADS")}
ONE_THREAD["OPENBLAS_NUM_THREADS"] = "1"

SMALL, LARGE = (1 << 16,), (1 << 22,)  # in the caches of a core, and not
SQUARE = (1024, 1024)
TYPES = ("float32", "float64", "int8", "int32")
FLOATS = TYPES[:2]


def maps():
    for dtype in TYPES:
        for extents in (SMALL, LARGE):
            for operation in ("add", "mul_add", "less", "where"):
                yield operation, dtype, extents
        yield "add_number", dtype, SMALL
        for operation in ("add_row", "add_column", "transpose"):
            yield operation, dtype, SQUARE
    for dtype in FLOATS:
        for operation in ("sqrt", "exp", "log", "sin", "cos", "tanh", "divide"):
            yield operation, dtype, SMALL
        yield "exp", dtype, LARGE
        yield "heat", dtype, SQUARE


def conversions_and_divisions():
    pairs = "float32 int8, float32 int32, float32 float64, float64 float32, int8 float32"
    for pair in (pairs + ", int32 float32, int32 int8").split(", "):
        for extents in (SMALL, LARGE):
            yield "to_" + pair.split()[1], pair.split()[0], extents
    for dtype in ("int8", "int32", "int64"):
        for operation in ("floor_divide_number", "floor_divide"):
            yield operation, dtype, SMALL


def reductions():
    operations = [(name, dtype) for dtype in TYPES for name in ("sum", "max", "argmax", "mean")]
    operations += [("var", dtype) for dtype in FLOATS] + [("any", "bool")]
    for operation, dtype in operations:
        yield operation, dtype, (1 << 20,)
        yield operation + ".0", dtype, SQUARE
        yield operation + ".1", dtype, SQUARE
        yield operation + ".1", dtype, (4096, 256)
        yield operation + ".1", dtype, (65536, 16)


def all_rows():
    return [*maps(), *conversions_and_divisions(), *reductions()]


class Server:
    """A program that answers questions."""

    def __init__(self, name, command, settings):
        self.name = name
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        self.process = subprocess.Popen(command, env=os.environ | settings, **pipes)

    def ask(self, who, operation, dtype, extents):
        """(seconds, figure), or None where it has no such row."""
        row = " ".join([who, operation, dtype, *map(str, extents)])
        self.process.stdin.write(row + "\n")
        answer = self.process.stdout.readline().split()
        if not answer:
            raise RuntimeError(f"{self.name} has ended at {row}")
        return None if answer == ["-"] else tuple(map(float, answer))

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def servers(build):
    """What is measured, with the program that answers for it."""
    quarry = Server("quarry", [build / "bench/bench_host"], ONE_THREAD)
    threads = Server("threads", [build / "bench/bench_host"], {})
    peers = Server("peers", [build / "bench/bench_host_peers"], ONE_THREAD)
    yield "quarry", "quarry", quarry
    try:
        import numpy  # noqa: F401

        command = [sys.executable, HERE / "peers/host_peer.py"]
        yield "numpy", "numpy", Server("numpy", command, ONE_THREAD)
    except ImportError:
        print("numpy: left out", file=sys.stderr)
    yield "xtensor", "xtensor", peers
    yield "eigen", "eigen", peers
    yield "threads", "quarry", threads


def measure(row, libraries):
    """Seconds by library; those whose figures are not Quarry's are errors."""
    answers = {}
    for _ in range(ROUNDS):
        for name, who, server in libraries:
            answer = server.ask(who, *row)
            if answer:
                answers.setdefault(name, []).append(answer)
    seconds = {name: min(s for s, _ in found) for name, found in answers.items()}
    want, errors = answers["quarry"][0][1], {}
    for name, found in answers.items():
        if not math.isclose(found[0][1], want, rel_tol=1e-3, abs_tol=1e-3):
            errors[name] = f"the figure of the result is {found[0][1]:.9g}, Quarry's {want:.9g}"
    return {"operation": row[0], "dtype": row[1], "extents": row[2], "errors": errors} | seconds


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line for line in lines if line.startswith("model name")]
    return names[0].split(":", 1)[1].strip() if names else "unknown processor"


def main(arguments):
    parser = argparse.ArgumentParser(prog="host.py")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--only", default="", help="rows that have this in their names")
    options = parser.parse_args(arguments)
    if not (options.build / "bench/bench_host").exists():
        print("host: not built", file=sys.stderr)
        return 0
    libraries = list(servers(options.build))
    chosen = [row for row in all_rows() if options.only in f"{row[0]} {row[1]} {row[2]}"]
    rows = [measure(row, libraries) for row in chosen]
    for _, _, server in libraries:
        server.end()
    document = {"context": {"num_cpus": os.cpu_count()}, "processor": processor(), "rows": rows}
    (options.results / "host.json").write_text(json.dumps(document, indent=1))
    print("\n".join(report(document)))
    return 1 if any(row["errors"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
