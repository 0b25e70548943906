# SPDX-License-Identifier: BSD-3-Clause
"""One table from the results of one run: every item beside its limit, its goal and the peers.
Usage: report.py RESULTS_FOLDER [COMMAND_THAT_WAS_RUN]

The results are JSON files of Google Benchmark, whose rows are named who/item, and of the scripts
here: {"records": [{"who", "item", "seconds", "size"} or {"who", "item", "error"}]}."""

import dataclasses
import json
import pathlib
import sys

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
PEERS = ("cupy", "cupy.fuse", "torch", "torch.compile", "jax", "xtensor", "eigen")


@dataclasses.dataclass
class Result:
    seconds: float = 0.0
    bytes: float = 0.0
    size: str = ""
    error: str = ""


@dataclasses.dataclass
class Item:
    """A goal is either a share of the limit's rate, a multiple of the limit's time, seconds, or a
    ratio that every peer's time must have to ours."""

    name: str
    title: str
    limit: str = ""  # a row of limits.cpp
    share: float = 0.0
    multiple: float = 0.0
    seconds: float = 0.0
    peers: float = 0.0


ITEMS = (
    Item("h2d_4KiB", "host to device, 4 KiB", "pageable_h2d_4KiB", multiple=1.1),
    Item("d2h_4KiB", "device to host, 4 KiB", "pageable_d2h_4KiB", multiple=1.1),
    Item("h2d_1MiB", "host to device, 1 MiB", "pinned_h2d_1MiB"),
    Item("d2h_1MiB", "device to host, 1 MiB", "pinned_d2h_1MiB"),
    Item("h2d_64MiB", "host to device, 64 MiB", "pinned_h2d_64MiB", share=0.85),
    Item("d2h_64MiB", "device to host, 64 MiB", "pinned_d2h_64MiB", share=0.85),
    Item("h2d_1GiB", "host to device, 1 GiB", "pinned_h2d_1GiB", share=0.85),
    Item("d2h_1GiB", "device to host, 1 GiB", "pinned_d2h_1GiB", share=0.85),
    Item("h2d_strided", "host to device, `h[:, ::2]`", "pinned_h2d_1GiB", share=0.6),
    Item("h2d_transposed", "host to device, `h.T`", "pinned_h2d_1GiB", share=0.6),
    Item("h2d_columns", "host to device, column block", "pinned_h2d_1GiB", share=0.6),
    Item("d2h_strided", "device to host, `d[:, ::2]`", "pinned_d2h_1GiB", share=0.6),
    Item("launch_add", "`c = a + b`, 1024, issue", "launch", multiple=1.2),
    Item("launch_add_into", "`c(all) = a + b`, 1024, issue", "launch"),
    Item("allocate_free", "allocate and free 1 KiB", seconds=100e-9),
    Item("first_kernel", "first new kernel of a process", seconds=80e-3),
    Item("further_kernel", "each further new kernel", seconds=40e-3),
    Item("cached_kernel", "kernel from the disk cache", seconds=2e-3),
    Item("add", "`a + b`", "device_add", share=0.97),
    Item("fused", "`a * b + sin(c) * 2 - d`", "device_add", share=0.97),
    Item("where", "`where(x > 0.5, a, b)`", "device_add", share=0.97),
    Item("broadcast", "column + row", "device_set"),
    Item("add_f16", "`a + b`, float16", "device_add", share=0.97),
    Item("add_f64", "`a + b`, float64", "device_add", share=0.97),
    Item("fused_f64", "`a * b + sin(c) * 2 - d`, float64", "device_add"),
    Item("strided_copy", "copy of `m[::2, ::3]`", "device_copy"),
    Item("transpose_copy", "transposed copy", "device_copy", share=0.85),
    Item("permute_copy", "permuted copy", "device_copy", share=0.85),
    Item("sum", "sum", "device_add", share=0.9),
    Item("max", "max", "device_add", share=0.9),
    Item("argmax", "argmax", "device_add", share=0.9),
    Item("mean", "mean", "device_add", share=0.9),
    Item("sum_axis0", "sum over axis 0", "device_add", share=0.9),
    Item("sum_axis1", "sum over axis 1", "device_add", share=0.9),
    Item("sum_tall_axis0", "sum over axis 0, tall", "device_add", share=0.9),
    Item("sum_tall_axis1", "sum over axis 1, tall", "device_add", share=0.9),
    Item("sum_squares", "`sum((a - b) * (a - b))`", "device_add", share=0.9),
    Item("heat_two_buffers", "heat by slices, two buffers", "device_add", seconds=7e-3),
    Item("heat_in_place", "heat by slices, in place", "device_add", seconds=13e-3),
    Item("hillshade", "hillshade, three kernels", "device_add"),
    Item("one_core_axpy", "CPU, one core: `a * b + c * 2 - d`", peers=1.0),
    Item("one_core_fused", "CPU, one core: `a * b + sin(c) * 2 - d`", peers=1.0),
    Item("one_core_sum", "CPU, one core: sum", peers=1.0),
    Item("user_file", "compile a user's file, quarry.hpp", seconds=2.5),
    Item("user_file_xtensor", "compile a user's file, with xtensor.hpp"),
)


def google_rows(document):
    for row in document["benchmarks"]:
        if row.get("aggregate_name", "median") != "median":
            continue
        who, item = row["name"].split("/")[:2]
        if row.get("error_occurred"):
            yield who, item, Result(error=row.get("error_message", "failed"))
        else:
            seconds = row["real_time"] * UNITS[row["time_unit"]]
            yield who, item, Result(seconds, row.get("bytes", 0.0), row.get("label", ""))


def script_rows(document):
    for row in document["records"]:
        fields = {key: row[key] for key in ("seconds", "size", "error") if key in row}
        yield row["who"], row["item"], Result(**fields)


def load(folder):
    """{(who, item): Result} and the context of the run."""
    results, context = {}, {}
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        try:
            document = json.loads(path.read_text())
        except ValueError:
            continue  # a program that had nothing to measure, or was interrupted
        if "benchmarks" not in document and "records" not in document:
            continue  # not ours
        context |= document.get("context", {})
        rows = google_rows if "benchmarks" in document else script_rows
        results |= {(who, item): result for who, item, result in rows(document)}
    return results, context


def duration(seconds):
    for unit, scale in UNITS.items():
        if seconds >= scale or unit == "ns":
            digits = "{:.3g}" if seconds < 1000 * scale else "{:.0f}"
            return f"{digits.format(seconds / scale)} {unit}"


def figure(result):
    """A rate where there is one, else a duration."""
    if result is None:
        return ""
    if result.error:
        return "error"
    if result.bytes and result.seconds > 20e-6:
        return f"{duration(result.seconds)}, {1e-9 * result.bytes / result.seconds:.4g} GB/s"
    return duration(result.seconds)


def limit_seconds(item, ours, limits):
    """What the limit would take for our bytes; its own time where a multiple is asked for."""
    limit = limits.get(item.limit)
    if limit is None or limit.error:
        return None
    if limit.bytes and ours.bytes and not item.multiple:
        return ours.bytes / (limit.bytes / limit.seconds)
    return limit.seconds


def goal(item):
    if item.share:
        return f">= {item.share:g}"
    if item.multiple:
        return f">= {1 / item.multiple:.2f}"
    if item.seconds:
        return f"<= {duration(item.seconds)}"
    return ">= peers" if item.peers else ""


def is_met(item, ours, limit, peers, on_gpu):
    """None where there is nothing to judge."""
    if item.share or item.multiple:
        return None if limit is None else limit / ours.seconds >= (item.share or 1 / item.multiple)
    if item.seconds:
        return ours.seconds <= item.seconds if on_gpu or item.name == "user_file" else None
    if item.peers and peers:
        return min(peers) / ours.seconds >= item.peers
    return None


def compared(peer, ours):
    if peer is None:
        return ""
    return "error" if peer.error else f"{peer.seconds / ours.seconds:.2f}"


def table(results, on_gpu):
    limits = {item: result for (who, item), result in results.items() if who == "limit"}
    who = [peer for peer in PEERS if any(key[0] == peer for key in results)]
    yield ["work", "size", "Quarry", "limit", "of the limit", "goal", "met", *who]
    for item in ITEMS:
        ours = results.get(("quarry", item.name))
        if ours is None:
            continue
        if ours.error:
            yield [item.title, "", "error", "", "", goal(item), "no", *("" for _ in who)]
            continue
        limit = limit_seconds(item, ours, limits)
        theirs = [results.get((peer, item.name)) for peer in who]
        seconds = [peer.seconds for peer in theirs if peer and not peer.error]
        met = is_met(item, ours, limit, seconds, on_gpu)
        yield [
            item.title,
            ours.size,
            figure(ours),
            "" if limit is None else duration(limit),
            "" if limit is None else f"{limit / ours.seconds:.2f}",
            "" if met is None else goal(item),
            {True: "yes", False: "no", None: ""}[met],
            *(compared(peer, ours) for peer in theirs),
        ]


def markdown(rows):
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(row, widths)] for row in rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in padded)


def report(results, context, command):
    on_gpu = "gpu" in context
    device = "CPU only"
    if on_gpu:
        device = f"{context['gpu']} (CUDA driver {context['cuda_driver_version']})"
    cores, date = context.get("num_cpus", "?"), context.get("date", "?")[:16]
    yield f"Device: {device}; {cores} CPU cores. Date: {date}."
    if command:
        yield f"Command: `{command}`"
    yield ""
    yield (
        "Medians. `of the limit` is the limit's time over ours; the numbers under a peer are its "
        "time over ours: above 1, Quarry is faster."
    )
    yield ""
    yield markdown(list(table(results, on_gpu)))
    limits = [[item, figure(result)] for (who, item), result in results.items() if who == "limit"]
    if limits:
        yield "\nThe machine's own calls in the same run:\n"
        yield markdown([["call", "median"], *limits])
    errors = [(key, result.error) for key, result in results.items() if result.error]
    if errors:
        yield "\nFailed:\n"
        yield from (f"- {who}/{item}: {error}" for (who, item), error in errors)


def main(folder, command=""):
    results, context = load(folder)
    if not results:
        sys.exit(f"report.py: no results in {folder}")
    print("\n".join(report(results, context, command)))
    if any(result.error for (who, _), result in results.items() if who == "quarry"):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:3])
