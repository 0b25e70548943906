# SPDX-License-Identifier: BSD-3-Clause
"""The table of `scripts/bench host`, from the document that bench/host.py writes."""

import math

from table import duration, markdown

PEERS = ("numpy", "xtensor", "eigen")
GOALS = {"numpy": 0.97, "xtensor": 0.97, "eigen": 0.8}


def ratio(row, peer):
    """The peer's time over ours: above 1, Quarry is faster."""
    return row[peer] / row["quarry"] if peer in row and peer not in row["errors"] else None


def name(row):
    return f"`{row['operation']}` {row['dtype']}[{', '.join(map(str, row['extents']))}]"


def missed(row):
    found = ((ratio(row, peer), GOALS[peer]) for peer in PEERS)
    return any(value is not None and value < goal for value, goal in found)


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def all_cores(rows):
    """A sentence about all threads of Quarry beside NumPy, which has one on any machine."""
    found = [row["numpy"] / row["threads"] for row in rows if "numpy" in row and "threads" in row]
    if found:
        yield f"\nWith all cores, {geometric_mean(found):.2f} of NumPy's speed: the geometric mean."


def summary(rows):
    """For every peer the geometric mean of its ratios, the lowest one, and how many miss."""
    yield ["peer", "rows", "geometric mean", "lowest", "of", "goal", "below the goal"]
    for peer in PEERS:
        found = [(ratio(row, peer), name(row)) for row in rows if ratio(row, peer)]
        if not found:
            continue
        mean = geometric_mean([value for value, _ in found])
        lowest, where = min(found)
        below = sum(value < GOALS[peer] for value, _ in found)
        cells = [f"{mean:.2f}", f"{lowest:.2f}", where, f"{GOALS[peer]:g}", str(below)]
        yield [peer, str(len(found)), *cells]


def cells(row):
    times = [f"{ratio(row, peer):.2f}" if ratio(row, peer) else "" for peer in PEERS]
    threads = f"{row['quarry'] / row['threads']:.2f}" if "threads" in row else ""
    return [name(row), duration(row["quarry"]), *times, threads, "below" if missed(row) else ""]


def report(document):
    rows = document["rows"]
    yield "\n### The CPU device beside NumPy, xtensor and Eigen\n"
    yield (
        f"{document['processor']}, {document['context']['num_cpus']} cores; one thread each. The "
        "shortest of all samples. The numbers under a peer are its time over ours: above 1, Quarry "
        "is faster; `all cores` is the speed-up by all of them.\n"
    )
    yield markdown(list(summary(rows)))
    yield from all_cores(rows)
    yield ""
    yield markdown([["row", "Quarry", *PEERS, "all cores", "goal"], *map(cells, rows)])
    for row in rows:
        yield from (f"- {peer}, {name(row)}: {text}" for peer, text in row["errors"].items())
