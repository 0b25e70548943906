# SPDX-License-Identifier: BSD-3-Clause
"""Draws cases, times Quarry and its peers on them, and writes RESULTS/SET.json.
Usage: drawn.py shapes|indexing BUILD RESULTS [--seed N] [--cases N]

The cases are new in every run; the seed that is printed repeats them. Of the set `shapes`
bench/shape_cases.py draws them, and bench/shapes.cpp and bench/peers/shapes_peer.py time them; of
`indexing` the files with its name. bench/drawn_report.py has the tables. QUARRY_BENCH_LOG2 is the
logarithm of the largest size."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import indexing_cases
import report
import shape_cases

HERE = pathlib.Path(__file__).resolve().parent
SETS = {"shapes": shape_cases, "indexing": indexing_cases}
SECONDS = 300  # for each library
LOG2 = {"cpu": 22, "cuda": 27}
FOOTPRINT = {"cpu": 1 << 26, "cuda": 1 << 29}  # bytes, several times what the caches hold


def device_and_rates(program, build, results):
    """The device's name, and bytes per second of its own copy and addition: on a GPU as
    bench/limits.cpp measures them, on the CPU those of a copy by all threads."""
    lines = subprocess.run([program, "--machine"], stdout=subprocess.PIPE, text=True, check=True)
    found = dict(line.split(" ", 1) for line in lines.stdout.splitlines())
    if "copy" in found:
        rate = float(found["copy"])
        return found["device"], {"copy": rate, "add": rate}
    return found["device"], gpu_rates(build / "bench/bench_limits", results)


def gpu_rates(program, results):
    """From the limits of this run, which are measured now if they have not been before."""
    path = results / "limits.json"
    if not path.exists():
        options = ["--benchmark_filter=device_(add|copy)/", "--benchmark_out_format=json"]
        subprocess.run([program, f"--benchmark_out={path}", *options], check=True)
    limits = {item: row for (who, item), row in report.load(results)[0].items() if who == "limit"}
    rows = {name: limits[f"device_{name}"] for name in ("copy", "add")}
    return {name: row.bytes / row.seconds for name, row in rows.items()}


def outcomes(name, command, cases):
    """Seconds or errors by the number of the case, from the lines of a program that may end early;
    none if it has nothing to say."""
    start, ending = time.perf_counter(), ""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            code = subprocess.run(command, stdout=output, timeout=SECONDS, check=False).returncode
            ending = f"the program has ended with code {code}" if code else ""
        except subprocess.TimeoutExpired:
            ending = f"not reached in {SECONDS} s"
        output.seek(0)
        lines = [line.rstrip("\n").split(" ", 2) for line in output]
    if not lines and not ending:
        return None
    done = {int(line[0]): line[1:] for line in lines if len(line) == 3}
    print(f"{name}: {len(done)} cases, {time.perf_counter() - start:.0f} s", flush=True)
    return {case.id: done.get(case.id, ("error", ending or "no result")) for case in cases}


def rows_of(cases, rates, results):
    """What the report needs of every case."""
    for case in cases:
        row = {"text": str(case), "group": case.group, "kind": case.kind, "bytes": case.bytes}
        row |= {"limit": case.limit(rates), "errors": {}, "case": dataclasses.asdict(case)}
        for name, done in results.items():
            outcome, text = done[case.id]
            if outcome == "ok":
                row[name] = float(text)
            else:
                row["errors"][name] = text
        yield row


def measure(name, program, peers, cases, rates):
    with tempfile.TemporaryDirectory() as folder:
        lines, fields = pathlib.Path(folder, "cases.txt"), pathlib.Path(folder, "cases.json")
        lines.write_text("".join(case.line() + "\n" for case in cases))
        limits = [{"case": dataclasses.asdict(c), "limit": c.limit(rates)} for c in cases]
        fields.write_text(json.dumps(limits))
        results = {"quarry": outcomes("quarry", [program, lines], cases)}
        for peer in peers:
            command = [sys.executable, HERE / f"peers/{name}_peer.py", peer, fields]
            results[peer] = outcomes(peer, command, cases)
            if results[peer] is None:
                print(f"{peer}: left out")
    return {name: done for name, done in results.items() if done is not None}


def parse(arguments):
    parser = argparse.ArgumentParser(prog="drawn.py")
    parser.add_argument("name", choices=SETS)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--cases", type=int, default=60)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    program = options.build / f"bench/bench_{options.name}"
    if not program.exists():
        print(f"{options.name}: not built", file=sys.stderr)
        return 0
    device, rates = device_and_rates(program, options.build, options.results)
    kind = "cpu" if device.startswith("cpu") else "cuda"
    log2 = int(os.environ.get("QUARRY_BENCH_LOG2", LOG2[kind]))
    print(f"{options.name}: --seed {options.seed} repeats these cases", flush=True)
    drawn = SETS[options.name]
    cases = list(drawn.draw_cases(options.seed, options.cases, log2, FOOTPRINT[kind]))
    results = measure(options.name, program, drawn.PEERS[kind], cases, rates)
    date = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    document = {"context": {"date": date, "num_cpus": os.cpu_count()}, "device": device}
    document |= {"set": options.name, "groups": drawn.GROUPS}
    document |= {"seed": options.seed, "log2": log2, "rates": rates}
    document["peers"] = [name for name in results if name != "quarry"]
    document["rows"] = list(rows_of(cases, rates, results))
    (options.results / f"{options.name}.json").write_text(json.dumps(document, indent=1))
    return 1 if any("quarry" in row["errors"] for row in document["rows"]) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
