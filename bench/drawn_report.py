# SPDX-License-Identifier: BSD-3-Clause
"""The tables of `scripts/bench shapes` and `indexing`, from what bench/drawn.py writes."""

from table import duration, markdown

WORST = 10  # rows of a group that are listed


def quantile(values, share):
    """Between the two nearest in order, as numpy.quantile."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def share(row):
    return row["limit"] / row["quarry"]


def ratios(rows, peers):
    """Per row the shortest time among those of `peers` over ours, where there is one."""
    times = ([row[peer] for peer in peers if row.get(peer)] for row in rows)
    return [min(theirs) / row["quarry"] for row, theirs in zip(rows, times) if theirs]


def summary_row(title, rows, peers):
    shares = [share(row) for row in rows]
    cells = [title, str(len(rows))]
    cells += [f"{quantile(shares, at):.2f}" for at in (0, 0.1, 0.5)]
    for columns in [[peer] for peer in peers] + ([peers] if len(peers) > 1 else []):
        theirs = ratios(rows, columns)
        cells += [f"{quantile(theirs, at):.2f}" if theirs else "" for at in (0.5, 0)]
    return cells


def summary(rows, peers, groups):
    """A row for every group, and one for every kind of case in it."""
    columns = [*peers, *(["the best peer"] if len(peers) > 1 else [])]
    heading = ["group", "cases", "worst", "tenth percentile", "median"]
    yield heading + [f"{peer}, {what}" for peer in columns for what in ("median", "worst")]
    for group in groups:
        chosen = [row for row in rows if row["group"] == group]
        if chosen:
            yield summary_row(f"**{group}**", chosen, peers)
        for kind in sorted({row["kind"] for row in chosen}):
            of_kind = [row for row in chosen if row["kind"] == kind]
            yield summary_row(kind, of_kind, peers)


def worst_rows(rows, peers):
    yield ["case", "Quarry", "limit", "of the limit", *peers]
    for row in sorted(rows, key=share)[:WORST]:
        theirs = [duration(row[peer]) if row.get(peer) else "" for peer in peers]
        times = [duration(row["quarry"]), duration(row["limit"])]
        yield [f"`{row['text']}`", *times, f"{share(row):.2f}", *theirs]


def missing(rows, names):
    """What has failed, and where."""
    for row in rows:
        for name in names:
            if row["errors"].get(name):
                yield f"- {name}, `{row['text']}`: {row['errors'][name]}"


def report(document):
    rows, peers = document["rows"], document["peers"]
    rates = document["rates"]
    speeds = ", ".join(f"{name} {1e-9 * rate:.4g} GB/s" for name, rate in rates.items())
    yield f"\n### Drawn {document['set']}, seed {document['seed']}\n"
    yield (
        f"{document['device']}; {len(rows)} cases of 2^{document['log2'] - 2} to "
        f"2^{document['log2']} elements. The limit is the time for the bytes that have to be "
        f"moved, at the machine's own speed: {speeds}. Shares of the limit; the numbers "
        "of a peer are its time over ours: above 1, Quarry is faster.\n"
    )
    measured = [row for row in rows if row.get("quarry")]
    if measured:
        yield markdown(list(summary(measured, peers, document["groups"])))
    for group in document["groups"]:
        chosen = [row for row in measured if row["group"] == group]
        if chosen:
            yield f"\nThe lowest shares of {group}:\n"
            yield markdown(list(worst_rows(chosen, peers)))
    failed = list(missing(rows, ["quarry", *peers]))
    if failed:
        yield "\nWithout a result:\n"
        yield from failed
