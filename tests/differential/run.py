# SPDX-License-Identifier: BSD-3-Clause
"""Draws programs, computes them with NumPy and with Quarry, and compares bit for bit or within the
errors of docs/numerics.md.

    run.py PROGRAM [--cases N] [--seed N]   PROGRAM is build/dev/tests/conformance_tests
    run.py PROGRAM --write                  writes programs.bin

The programs are new in every run; the seed that is printed repeats them. Those in regressions.jsonl
come first. A program that fails is made as small as possible, printed and added to that file.
Without NumPy 2 the programs of programs.bin are replayed, which have NumPy's results.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
REGRESSIONS = HERE / "regressions.jsonl"
STORED = HERE / "programs.bin"
STORED_COUNT, STORED_SEED = 200, 1
CHUNK = 500
PROCESS_MEMORY = 1 << 10  # MiB of a GPU: half of it is the context
SHRUNK = 3  # of the programs that fail


def replay(program, packed):
    """What is said about the programs that fail, by their numbers; how many had no memory; and the
    whole output."""
    if not packed:
        return {}, 0, ""
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(b"".join(packed))
        file.flush()
        run = subprocess.run(
            [program, "--gtest_filter=Differential.*"], capture_output=True, text=True,
            errors="replace", check=False,
            env={**os.environ, "QUARRY_DRAWN_PROGRAMS": file.name, "GTEST_OUTPUT": ""})
    lines = run.stdout.splitlines()
    failed = {}
    for line in lines:
        if line.startswith("program "):
            number, text = line.removeprefix("program ").split(": ", 1)
            failed[int(number)] = text
    starved = sum(line.startswith("no memory: ") for line in lines)
    if run.returncode == 0 or (run.returncode == 1 and (failed or starved)):
        return failed, starved, run.stdout
    if len(packed) == 1:
        end = f"ends with {run.returncode}"
        return {0: end}, 0, f"{run.stdout}{run.stderr}{end}"
    half = len(packed) // 2
    left, right = (replay(program, p) for p in (packed[:half], packed[half:]))
    return ({**left[0], **{half + k: text for k, text in right[0].items()}}, left[1] + right[1],
            left[2] + right[2])


def draw_chunk(program, seed, start, count):
    """Draws some programs, and returns those that fail with what was said, the numbers of those
    that had no memory, of steps, and of writes that overlap what they read."""
    from draw import draw_program

    drawn = [draw_program([seed, k]) for k in range(start, start + count)]
    failed, starved, _ = replay(program, [packed for _, packed, _ in drawn])
    return ([(start + k, drawn[k][0], text) for k, text in failed.items()], starved,
            sum(len(d["steps"]) for d, *_ in drawn),
            sum((overlapping for *_, overlapping in drawn), Counter()))


def smaller(program):
    """Programs with a little less."""
    def changed(**parts):
        return {**json.loads(json.dumps(program)), **parts}

    inputs, steps = program["inputs"], program["steps"]
    for k in reversed(range(len(steps))):
        gone, kept = set(), []
        for j, step in enumerate(steps):
            if j == k or gone & set(step[1]):
                gone |= set(step[3])
            else:
                kept.append(step)
        yield changed(steps=kept)
    used = {k for step in steps for k in step[1]}
    for k, (name, shape, jumps, axes, seed, low, high) in enumerate(inputs):
        def with_input(*spec):
            return changed(inputs=[*inputs[:k], list(spec), *inputs[k + 1:]])
        if k not in used and shape != [0]:
            yield with_input(name, [0], [1], [0], 0, 0, 1)
        if axes != sorted(axes) and len(set(shape)) <= 1:
            yield with_input(name, shape, jumps, sorted(axes), seed, low, high)
        if seed:
            yield with_input(name, shape, jumps, axes, 0, low, high)
        for d, n in enumerate(shape):
            step = abs(jumps[d])
            if jumps[d] != 1:
                yield with_input(name, [*shape[:d], n // step, *shape[d + 1:]],
                                 [*jumps[:d], 1, *jumps[d + 1:]], axes, seed, low, high)
            if n >= step:
                yield with_input(name, [*shape[:d], n - step, *shape[d + 1:]], jumps, axes, seed,
                                 low, high)
    for k, step in enumerate(steps):
        if step[0] != "index":
            continue
        for at in range(0, len(step[2][0]), 4):
            codes = [*step[2][0][:at], 1, 99, 99, 1, *step[2][0][at + 4:]]
            if codes != step[2][0]:
                yield changed(steps=[*steps[:k], [step[0], step[1], [codes], step[3]],
                                     *steps[k + 1:]])


def shrink(program, drawn):
    """The smallest program that still fails, and what is said about it."""
    from machine import pack

    said = replay(program, [pack(drawn)])[2]
    while True:
        candidates, packed = [], []
        for candidate in smaller(drawn):
            try:
                packed.append(pack(candidate))
                candidates.append(candidate)
            except Exception:  # it is no program any more: NumPy says so in many ways
                continue
        failed = replay(program, packed)[0]
        if not failed:
            return drawn, said
        first = min(failed)
        drawn = candidates[first]
        said = replay(program, [packed[first]])[2]


def regressions():
    return [json.loads(line) for line in REGRESSIONS.read_text(encoding="utf-8").splitlines()]


def message(said):
    """What replay_test.cpp says behind the listing."""
    lines = said.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith(("step ", "throws "))), 0)
    last = next((k for k in range(first, len(lines)) if "replay_test.cpp" in lines[k]), len(lines))
    return "\n".join(lines[first:last])


def report(program, drawn):
    from machine import listing

    drawn, said = shrink(program, drawn)
    print(f"{listing(drawn)}\n{message(said)}")
    if drawn not in regressions():
        with REGRESSIONS.open("a", encoding="utf-8") as file:
            file.write(json.dumps(drawn) + "\n")
        print(f"added to {REGRESSIONS}")


def most_processes():
    """As many as there are cores, and as the memory of the GPU is enough for."""
    cores = os.cpu_count()
    if os.environ.get("QUARRY_TEST_DEVICE") != "cuda":
        return cores
    query = ["nvidia-smi", "--query-gpu=memory.free", "--format=csv,noheader,nounits"]
    try:
        said = subprocess.run(query, capture_output=True, text=True, check=True).stdout
        free = min(int(line) for line in said.splitlines())
    except (OSError, subprocess.CalledProcessError, ValueError):  # not every GPU tells
        free = 8 * PROCESS_MEMORY
    return max(1, min(cores, free // PROCESS_MEMORY))


def has_numpy_2():
    try:
        import numpy
    except ImportError:
        return False
    return int(numpy.__version__.split(".")[0]) >= 2


def write():
    from draw import draw_program
    from machine import pack

    packed = [pack(p) for p in regressions()]
    packed += [draw_program([STORED_SEED, k])[1] for k in range(STORED_COUNT)]
    STORED.write_bytes(b"".join(packed))
    print(len(packed), "programs,", STORED.stat().st_size, "bytes")


def run(program, seed, cases):
    from machine import pack

    print(f"{cases} programs, --seed {seed}", flush=True)
    known = regressions()
    failed, starved, _ = replay(program, [pack(p) for p in known])
    for k, text in failed.items():
        print(f"\nregression {k + 1} is back: {text}")
        report(program, known[k])
    starts = range(0, cases, CHUNK)
    with ProcessPoolExecutor(most_processes()) as pool:
        done = pool.map(draw_chunk, *zip(*((program, seed, start, min(CHUNK, cases - start))
                                           for start in starts)))
        wrong, steps, overlapping = [], 0, Counter()
        for found, without_memory, count, writes in done:
            wrong += found
            starved += without_memory
            steps += count
            overlapping += writes
    for number, drawn, text in wrong[:SHRUNK]:
        print(f"\nprogram {number}: {text}")
        report(program, drawn)
    print(f"{len(known)} regressions, {len(failed)} back; {cases} programs of {steps} steps, "
          f"{len(wrong)} differ, {starved} had no memory")
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(overlapping.items()))
    print(f"{overlapping.total()} writes overlap what they read: {kinds}")
    return 1 if failed or wrong or starved else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=secrets.randbits(31))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not has_numpy_2():
        print("no NumPy 2: only the stored programs are replayed")
        return subprocess.run([options.program, "--gtest_filter=Differential.*"],
                              check=False).returncode
    warnings.simplefilter("ignore")
    if options.write:
        return write()
    return run(options.program, options.seed, options.cases)


if __name__ == "__main__":
    sys.exit(main())
