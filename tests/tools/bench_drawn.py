# SPDX-License-Identifier: BSD-3-Clause
"""Checks the drawn cases and the statistics of `scripts/bench shapes` and `indexing`, which limits
other rows have and, where a build folder with the benchmarks is given, runs small cases on the CPU
device.
Usage: bench_drawn.py PROJECT_ROOT [BUILD]"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "bench"))

import report as row_report  # noqa: E402
import drawn_report  # noqa: E402
import indexing_cases  # noqa: E402
from shape_cases import GROUPS, ITEMSIZE, MAPS, REDUCTIONS, Case, draw_cases  # noqa: E402

LOG2, FOOTPRINT = 27, 1 << 29


def drawn(seed=7, count=2000):
    return draw_cases(seed, count, LOG2, FOOTPRINT)


def check_repeats():
    assert drawn(7, 50) == drawn(7, 50)
    assert drawn(7, 50) == drawn(7, 80)[:50], "more cases change the first ones"
    assert drawn(7, 50) != drawn(8, 50)


def check_case(case):
    rank = len(case.memory)
    assert 2 ** (LOG2 - 2) <= math.prod(case.view) <= 2**LOG2, case
    assert min(case.view) >= 1 and sorted(case.order) == list(range(rank)), case
    assert case.memory[-1] % case.step == 0, case
    assert case.span % 256 == 0 and case.second_at >= math.prod(case.memory), case
    held = case.inputs * case.span * ITEMSIZE[case.dtype]
    assert case.inputs == 1 or held <= FOOTPRINT, case
    assert case.inputs == 16 or held + case.span * ITEMSIZE[case.dtype] > FOOTPRINT, case
    if case.group == "reductions":
        assert rank <= 4 and len(case.axes) >= 1, case
        assert list(case.axes) == sorted(set(case.axes)) and case.axes[-1] < rank, case
        one_or_all = case.operation == "argmax"
        assert len(case.axes) in ((1, rank) if one_or_all else (1, 2, 3)), case
    elif case.group == "copies":
        assert 2 <= rank <= 5 and case.order != tuple(range(rank)) and not case.axes, case
    else:
        sides = zip(reversed(case.view), reversed(case.second))
        assert all(n in (1, extent) for extent, n in sides), case
        assert (case.operation == "add") == bool(case.second), case


def share_of(cases, condition):
    return sum(map(condition, cases)) / len(cases)


def check_drawing():
    cases = drawn()
    for case in cases:
        check_case(case)
    groups = {group: [case for case in cases if case.group == group] for group in GROUPS}
    assert [len(groups[group]) for group in GROUPS] == [1000, 500, 500]
    assert {case.operation for case in groups["reductions"]} == set(REDUCTIONS)
    assert {case.kind for case in groups["maps"]} == set(MAPS)
    for group, ranks in (("reductions", {1, 2, 3, 4}), ("copies", {2, 3, 4, 5})):
        assert {len(case.memory) for case in groups[group]} == ranks
    for dtype in ITEMSIZE:
        assert 0.2 < share_of(cases, lambda case: case.dtype == dtype) < 0.3
    assert {len(case.axes) for case in groups["reductions"]} == {1, 2, 3, 4}
    assert 0.25 < share_of(groups["reductions"], lambda case: case.step == 2) < 0.42
    reversed_axes = share_of(groups["copies"], lambda c: c.order == tuple(sorted(c.order))[::-1])
    assert 0.5 < reversed_axes < 0.85
    assert {case.inputs for case in draw_cases(7, 20, 12, FOOTPRINT)} == {16}, "16 at most"


def check_log_uniform():
    """The first of two extents is as often in each power of two as in any other."""
    logs = [math.log2(case.memory[0]) for case in drawn() if len(case.memory) == 2]
    counts = [sum(low <= x < low + 5 for x in logs) for low in (0.5, 5.5, 10.5, 15.5, 20.5)]
    assert min(counts) > 0.6 * max(counts), counts


def check_bytes():
    """By hand: what is read and written, once."""
    half = Case(0, "sum", "sum", "float16", memory=(8, 6), order=(0, 1), axes=(0,))
    assert half.bytes == 2 * 48 + 2 * 6 and half.result == (6,)
    turned = Case(0, "sum", "sum", "int8", memory=(8, 6), step=2, order=(1, 0), axes=(0,))
    assert turned.view == (3, 8) and turned.result == (8,) and turned.bytes == 48 + 8 * 8
    assert str(turned) == "int8[8, 6][..., ::2].transpose(1, 0).sum((0,))"
    where = Case(0, "argmax", "argmax", "float32", memory=(8, 6), order=(0, 1), axes=(0, 1))
    assert where.bytes == 4 * 48 + 8 and where.result == ()
    column = Case(0, "", "add", "float64", memory=(8, 6), order=(0, 1), second=(8, 1))
    assert column.bytes == 8 * (48 + 8 + 48) and column.second_at == 256 and column.span == 512
    rates = {"copy": 2.0, "add": 4.0}
    copy = Case(0, "", "copy", "int8", memory=(8, 6), order=(1, 0))
    assert copy.limit(rates) == 48.0 and turned.limit(rates) == 28.0


def check_drawn_indexing():
    cases = list(indexing_cases.draw_cases(7, 2000, LOG2, FOOTPRINT))
    assert cases[:50] == list(indexing_cases.draw_cases(7, 50, LOG2, FOOTPRINT))
    for case in cases:
        sizes = [case.size]
        sizes.append(math.prod(case.joined) if case.group == "joins" else case.count * case.row)
        assert min(case.shape) >= 1 and max(sizes) <= 2.01 * 2**LOG2, case
        assert case.group in indexing_cases.GROUPS and case.bytes > 0, case
        if case.operation in ("gather", "scatter"):
            assert case.count <= case.shape[0], case
    groups = [share_of(cases, lambda case, g=g: case.group == g) for g in indexing_cases.GROUPS]
    assert groups == [0.25] * 4, groups
    assert {case.operation for case in cases if case.group == "joins"} == set(indexing_cases.JOINS)


def check_bytes_of_indexing():
    """By hand, as above."""

    def moved(operation, dtype, shape, count, axis=0):
        return indexing_cases.Case(0, "", operation, dtype, shape, count, axis).bytes

    assert moved("read", "float32", (100,), 10) == 100 + 400 + 40
    assert moved("read", "float64", (100, 8), 10) == 100 + 1280, "rows that are kept"
    # rows of 48 bytes: of three sectors the middle one has something of two rows
    assert moved("read", "float32", (100, 12), 50) == 100 + 4800 * 7 / 12 + 2400
    assert moved("write", "float64", (100, 4), 10) == 100 + 320, "rows are sectors"
    assert moved("write", "float64", (1000, 2), 50) == 1000 + 16000 * (0.75 + 0.5)
    assert moved("write", "float64", (1000, 1), 90) == 1000 + round(8000 * (2 - 0.1**4 - 0.9**4))
    assert moved("gather", "float32", (1 << 24,), 10) == 10 * (8 + 4 + 32), "by sectors"
    assert moved("gather", "float32", (4,), 1000) == 1000 * 12 + 16, "at most the array"
    assert moved("gather", "float16", (1000, 64), 10) == 10 * (8 + 128 + 128)
    assert moved("gather", "int8", (1 << 20, 48), 10) == 10 * (8 + 48 + 64), "two of three sectors"
    assert moved("gather", "int8", (1 << 20, 40), 4) == 4 * 48 + 32 * (2 + 2 + 2 + 2)
    assert moved("gather", "int8", (1 << 20, 33), 32) == 32 * 41 + 32 * (31 * 2 + 2)
    assert moved("scatter", "float32", (1 << 24,), 10) == 10 * (8 + 4 + 64), "read and written"
    assert moved("scatter", "int8", (1 << 20, 48), 10) == 10 * (8 + 48 + 96)
    assert moved("scatter", "float64", (1 << 20, 8), 10) == 10 * (8 + 64 + 64), "whole sectors"
    assert moved("scatter", "float32", (4,), 1000) == 1000 * 12 + 32
    assert moved("add_at", "float64", (16,), 100) == 100 * 16 + 2 * 128
    assert moved("stack", "int8", (3, 5), 4, 2) == 2 * 60
    assert moved("tile", "float32", (3, 5), 2, 1) == 4 * (15 + 30)
    assert moved("pad", "float32", (3, 5), 2) == 4 * (15 + 63)


def rows_of_known_shares():
    for number in range(1, 12):
        row = {"group": "copies", "kind": "all", "text": f"case {number}", "errors": {}}
        row |= {"limit": 1.0, "quarry": 10.0 / number, "cupy": 20.0, "torch": 5.0}
        yield row


def check_statistics():
    assert drawn_report.quantile([3.0], 0.1) == 3.0
    assert drawn_report.quantile([4, 1, 3, 2], 0.5) == 2.5
    assert drawn_report.quantile(list(range(11)), 0.1) == 1
    assert abs(drawn_report.quantile([0, 10, 20], 0.1) - 2) < 1e-12
    rows = list(rows_of_known_shares())
    rows[3]["torch"], rows[3]["errors"] = None, {"torch": "out of memory"}
    peers = ["cupy", "torch"]
    _, copies, _ = drawn_report.summary(rows, peers, GROUPS)
    assert copies[:5] == ["**copies**", "11", "0.10", "0.20", "0.60"], copies
    assert copies[5:7] == ["12.00", "2.00"], copies  # CuPy's 20 s over ours
    assert copies[7:9] == ["3.25", "0.50"], copies  # PyTorch's, of ten cases
    assert copies[9:] == ["3.50", "0.50"], copies  # the shorter one: CuPy's where PyTorch failed
    worst = list(drawn_report.worst_rows(rows, peers))
    assert len(worst) == 11 and worst[1] == ["`case 1`", "10 s", "1 s", "0.10", "20 s", "5 s"]
    assert worst[4][-1] == "", "no time where a peer has failed"
    document = {"set": "shapes", "groups": GROUPS, "seed": 5, "device": "cpu", "log2": 20}
    document["rates"] = {"copy": 1e9}
    text = "\n".join(drawn_report.report(document | {"rows": rows, "peers": peers}))
    assert "seed 5" in text and "- torch, `case 4`: out of memory" in text


def check_limits_of_rows():
    """A row that has measured its limit in turn with its work is compared with that one."""
    launch = {"name": "limit/launch", "real_time": 2.0, "time_unit": "us"}
    adding = {"name": "quarry/launch_add", "real_time": 3.0, "time_unit": "us"}
    item = row_report.Item("launch_add", "", "launch", multiple=1.15)
    for given, expected in (({"limit": 2.9e-6}, 2.9e-6), ({}, 2e-6)):
        document = {"benchmarks": [launch, adding | given]}
        (_, _, limit), (_, _, ours) = row_report.google_rows(document)
        found = row_report.limit_seconds(item, ours, {"launch": limit})
        assert math.isclose(found, expected), (given, found)


# A machine with a GPU: benchmarks that print what the real ones do.
STAND_INS = {
    "bench_shapes": """
import sys
if sys.argv[1] == "--machine":
    print("device cuda:0 A GPU")
    sys.exit()
for line in list(open(sys.argv[1]))[:-2]:
    number, operation = line.split()[:2]
    print(number, "ok 0.5" if operation != "copy" else "error wrong result: element 3")
sys.exit(9)
""",
    "bench_limits": """
import json, re, sys
options = dict(option[2:].split("=") for option in sys.argv[1:])
rows = [{"name": f"limit/{name}/iterations:1/manual_time", "real_time": 2, "time_unit": "s",
         "bytes": size} for name, size in (("device_add", 6e9), ("device_copy", 4e9), ("x", 1))]
rows = [row for row in rows if re.search(options["benchmark_filter"], row["name"])]
context = {"gpu": "A GPU", "cuda_driver_version": "13.0"}
with open(options["benchmark_out"], "w") as file:
    json.dump({"context": context, "benchmarks": rows}, file)
""",
}


def check_results_of_a_gpu():
    """The limits are measured in the same run; wrong results, and cases that were not reached, are
    reported and fail the run."""
    with tempfile.TemporaryDirectory() as folder:
        programs = Path(folder, "bench")
        programs.mkdir()
        for name, text in STAND_INS.items():
            (programs / name).write_text(f"#!{sys.executable}\n{text}")
            (programs / name).chmod(0o755)
        command = [sys.executable, ROOT / "bench/drawn.py", "shapes", folder, folder]
        command += ["--cases", "12"]
        settings = {"PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": "", "QUARRY_BENCH_LOG2": "20"}
        options = {"env": os.environ | settings, "stdout": subprocess.PIPE, "check": False}
        done = subprocess.run(command, **options)
        assert done.returncode == 1, "a wrong result passes"
        document = json.loads(Path(folder, "shapes.json").read_text())
        command = [sys.executable, ROOT / "bench/report.py", folder]
        report = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert document["rates"] == {"copy": 2e9, "add": 3e9}, document["rates"]
    errors = [row["errors"].get("quarry") for row in document["rows"]]
    assert errors[1] == errors[5] == errors[9] == "wrong result: element 3", errors
    assert errors[-2:] == ["the program has ended with code 9"] * 2, errors
    assert all(row["quarry"] == 0.5 for row, error in zip(document["rows"], errors) if not error)
    assert "wrong result: element 3" in report and "A GPU" in report


def check_run(build, name, groups):
    """Every case has a time of ours, and the report says what was run."""
    with tempfile.TemporaryDirectory() as results:
        settings = {"QUARRY_DEVICE": "cpu", "QUARRY_BENCH_LOG2": "12", "QUARRY_CACHE_DIR": results}
        options = {"env": os.environ | settings, "check": True, "stdout": subprocess.PIPE}
        command = [sys.executable, ROOT / "bench/drawn.py", name, build, results]
        said = subprocess.run([*command, "--seed", "3", "--cases", "40"], text=True, **options)
        document = json.loads(Path(results, f"{name}.json").read_text())
        command = [sys.executable, ROOT / "bench/report.py", results]
        report = subprocess.run(command, text=True, **options).stdout
    assert "--seed 3" in said.stdout and document["seed"] == 3
    rows = document["rows"]
    assert len(rows) == 40 and all(row["quarry"] > 0 for row in rows)
    assert {row["group"] for row in rows} == set(groups)
    assert all(f"**{group}**" in report for group in groups) and "seed 3" in report


def main():
    checks = [check_repeats, check_drawing, check_log_uniform, check_bytes, check_statistics]
    checks += [check_drawn_indexing, check_bytes_of_indexing]
    for check in (*checks, check_limits_of_rows, check_results_of_a_gpu):
        check()
        print(check.__name__, "passed")
    if len(sys.argv) > 2:
        check_run(Path(sys.argv[2]), "shapes", GROUPS)
        check_run(Path(sys.argv[2]), "indexing", indexing_cases.GROUPS)
        print("check_run passed")


if __name__ == "__main__":
    main()
