# SPDX-License-Identifier: BSD-3-Clause
"""One table from the results of one run: every item beside its limit, its goal and the peers.
Usage: report.py RESULTS_FOLDER [COMMAND_THAT_WAS_RUN]

The results are JSON files of Google Benchmark, whose rows are named who/item, and of the scripts
here: {"records": [{"who", "item", "seconds", "size"} or {"who", "item", "error"}]}. The documents
of bench/host.py and bench/drawn.py are tables of their own."""

import dataclasses
import json
import pathlib
import sys

import drawn_report
import host_report
from table import UNITS, duration, markdown

PEERS = ("cupy", "cupy.async", "cupy.fuse", "torch", "torch.compile", "numba", "jax")
PEERS += ("device",)  # a driver call for every allocation


@dataclasses.dataclass
class Result:
    seconds: float = 0.0
    bytes: float = 0.0
    size: str = ""
    error: str = ""
    limit: float = 0.0  # seconds, where the row has measured it in turn with its work


@dataclasses.dataclass
class Item:
    """A goal is either a share of the limit's rate, a multiple of the limit's time, or seconds."""

    name: str
    title: str
    limit: str = ""  # a row of limits.cpp
    share: float = 0.0
    multiple: float = 0.0
    seconds: float = 0.0


STRIDED_COPIES = (
    ("h2d", "h2d", "host to device", "h"),
    ("d2h", "d2h", "device to host", "d"),
    ("d2h_into", "d2h", "device to host", "h"),
)


def transfer_items():
    """Copies of pageable and of page-locked memory; the limit is the link at the same size."""
    sizes = (("4KiB", "4 KiB"), ("1MiB", "1 MiB"), ("64MiB", "64 MiB"), ("1GiB", "1 GiB"))
    layouts = (("strided", "[:, ::2]"), ("transposed", ".T"), ("columns", "[:, :n/8]"))
    ways = (("h2d", "host to device"), ("d2h", "device to host"))
    for prefix, kind in (("", ""), ("pinned_", "page-locked ")):
        for name, size in sizes:
            for way, title in ways:
                item, text = f"{prefix}{way}_{name}", f"{kind}{title}, {size}"
                if name == "4KiB":
                    yield Item(item, text, f"{prefix or 'pageable_'}{way}_4KiB", multiple=1.1)
                else:
                    share = 0.0 if name == "1MiB" else 0.85
                    yield Item(item, text, f"pinned_{way}_{name}", share)
        for way, title in ways:
            item, text = f"{prefix}{way}_64MiB_queued", f"{kind}{title}, 64 MiB, queued"
            yield Item(item, text, f"pinned_{way}_64MiB", 0.85)
        for part, way, title, memory in STRIDED_COPIES:
            for name, layout in layouts:
                text = f"{kind}{title}, `{memory}{layout}`"
                yield Item(f"{prefix}{part}_{name}", text, f"pinned_{way}_1GiB", 0.6)
    yield Item("pinned_h2d_4KiB_queueing", "page-locked host to device, 4 KiB, issue")


ALLOCATION_SIZES = (
    (256, "B"), (1, "KiB"), (4, "KiB"), (64, "KiB"), (1, "MiB"), (32, "MiB"), (1, "GiB")
)


def allocation_items():
    """As bench/allocation.cpp names them; the limit is the driver's pool."""
    sizes = [(f"{n}{unit}", f"{n} {unit}") for n, unit in ALLOCATION_SIZES]

    def item(name, title, **goal):
        return Item(name, title, f"driver_pool_{name}", **(goal or {"multiple": 1.0}))

    yield Item("allocate_free", "create and drop an array of 1 KiB")
    for name, size in sizes:
        yield item(f"pair_{name}", f"allocate and free {size}", seconds=100e-9)
    for order, title in (("lifo", "last in first out"), ("fifo", "first in first out")):
        for name, size in sizes:
            yield item(f"{order}_{name}", f"64 x {size}, {title}")
    for count, most in ((1000, "1MiB"), (10000, "1MiB"), (1000, "64MiB")):
        yield item(f"random_{count}_{most}", f"{count} random, up to {most[:-3]} MiB")
    for count in (4096, 16384, 65536):
        for hole in (1024, 512):
            yield item(f"holes_{count}_{hole}", f"1 KiB beside {count} holes of {hole} B")
    for count in (1, 2, 4, 16):
        yield item(f"streams_{count}", f"allocate, fill, free 64 KiB, streams: {count}")
    for count in (1, 2, 4, 8, 16):
        yield item(f"threads_{count}", f"256 B to 16 MiB, a stream each, threads: {count}")
    yield item("handover", "4 KiB, another thread frees")


PARTS = {
    "Transfers": tuple(transfer_items()),
    "Allocation": tuple(allocation_items()),
    "Queueing and first use": (
        Item("launch_add", "`c = a + b`, 1024, issue", "launch", multiple=1.15),
        Item("launch_add_into", "`c(all) = a + b`, 1024, issue", "launch"),
        Item("read_by_mask", "`c = a(mask)`, 1024", "launch_and_wait", multiple=1.3),
        Item("item_of_sum", "`sum(a).item()`, 1024", "launch_and_wait"),
        Item("view_part", "view `a(range, range, range)`", seconds=60e-9),
        Item("view_reshape", "view `a.reshape({m, n})`", seconds=60e-9),
        Item("view_transpose", "view `a.transpose({2, 0, 1})`", seconds=60e-9),
        Item("view_moveaxis", "view `moveaxis(a, 0, -1)`", seconds=60e-9),
        Item("view_diagonal", "view `diagonal(a)`", seconds=60e-9),
        Item("replayed", "a kernel of a replayed graph, 1024", seconds=1.5e-6),
        Item("first_kernel", "first new kernel of a process", "compilation", seconds=50e-3),
        Item("further_kernel", "each further new kernel", "compilation", seconds=30e-3),
        Item("cached_kernel", "kernel from the disk cache", seconds=0.3e-3),
        Item("prepared_launch", "prepared kernel of a source, issue", "launch", multiple=1.05),
        Item("source_launch", "kernel of a source, issue", "launch"),
        Item("first_source", "first kernel of a `SourceModule`", "compilation", seconds=60e-3),
        Item("code_from_disk", "source to machine code, from the disk cache", seconds=1e-3),
        Item("source_from_disk", "source to a loaded kernel, from the disk cache", seconds=1e-3),
    ),
    "Elementwise": (
        Item("add", "`a + b`", "device_add", share=0.97),
        Item("fused", "`a * b + sin(c) * 2 - d`", "device_add", share=0.97),
        Item("where", "`where(x > 0.5, a, b)`", "device_add", share=0.97),
        Item("broadcast", "column + row", "device_set"),
        Item("add_f16", "`a + b`, float16", "device_add", share=0.97),
        Item("add_f64", "`a + b`, float64", "device_add", share=0.97),
        Item("fused_f64", "`a * b + sin(c) * 2 - d`, float64", "device_add", share=0.95),
        Item("two_outputs", "`eval(a + b, a - b)`", "device_add", share=0.95),
        Item("strided_copy", "copy of `m[::2, ::3]`", "device_copy"),
        Item("transpose_copy", "transposed copy", "device_copy", share=0.85),
        Item("permute_copy", "permuted copy", "device_copy", share=0.85),
    ),
    "Reductions": (
        Item("sum", "sum", "device_add", share=0.9),
        Item("max", "max", "device_add", share=0.9),
        Item("argmax", "argmax", "device_add", share=0.9),
        Item("mean", "mean", "device_add", share=0.9),
        Item("sum_axis0", "sum over axis 0", "device_add", share=0.9),
        Item("sum_axis1", "sum over axis 1", "device_add", share=0.9),
        Item("sum_tall_axis0", "sum over axis 0, tall", "device_add", share=0.9),
        Item("sum_tall_axis1", "sum over axis 1, tall", "device_add", share=0.9),
        Item("sum_squares", "`sum((a - b) * (a - b))`", "device_add", share=0.9),
    ),
    "Rows of 8192": (
        Item("softmax", "softmax", "device_add", share=0.9),
        Item("softmax_axis0", "softmax of columns", "device_add"),
        Item("log_softmax", "log_softmax", "device_add", share=0.9),
        Item("standardise", "`(x - mean) / std`", "device_add", share=0.9),
        Item("logsumexp", "logsumexp", "device_add", share=0.9),
        Item("var_rows", "var", "device_add", share=0.9),
    ),
    "Programs": (
        Item("heat_two_buffers", "heat by slices, two buffers", "plate_copies", share=0.97),
        Item("heat_in_place", "heat by slices, in place", "plate_copies", share=0.97),
        Item("heat_captured", "heat by slices, two buffers, captured", "plate_copies", share=0.97),
        Item("hillshade", "hillshade, two kernels", "device_add"),
    ),
    "Small kernels": (
        Item("pressure", "pressure in a box, six assignments"),
        Item("pressure_captured", "the same, captured"),
        Item("waves", "waves in a plane, four assignments"),
        Item("waves_captured", "the same, captured"),
        Item("cavity", "flow in a cavity, 314 kernels a step"),
        Item("cavity_captured", "the same, captured"),
        Item("bodies", "all pairs of bodies"),
        Item("options", "two prices, four kernels", "device_add"),
        Item("options_at_once", "two prices, two kernels", "device_add"),
    ),
    "On the host": (
        Item("user_file", "compile a user's file, quarry.hpp", seconds=2.5),
        Item("user_file_xtensor", "compile a user's file, with xtensor.hpp"),
    ),
}


def google_rows(document):
    for row in document["benchmarks"]:
        if row.get("aggregate_name", "median") != "median":
            continue
        who, item = row["name"].split("/")[:2]
        if row.get("error_occurred"):
            yield who, item, Result(error=row.get("error_message", "failed"))
        else:
            seconds = row["real_time"] * UNITS[row["time_unit"]]
            yield who, item, Result(seconds, row.get("bytes", 0.0), row.get("label", ""),
                                    limit=row.get("limit", 0.0))


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
        context |= document.get("context", {})
        if "benchmarks" not in document and "records" not in document:
            continue  # not ours
        rows = google_rows if "benchmarks" in document else script_rows
        results |= {(who, item): result for who, item, result in rows(document)}
    return results, context


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
    """What the limit would take for our bytes; its own time where a multiple is asked for. A row
    may have measured it itself, in turn with its work."""
    if ours.limit:
        return ours.limit
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
    return ""


def is_met(item, ours, limit, on_gpu):
    """None where there is nothing to judge."""
    if item.share or item.multiple:
        return None if limit is None else limit / ours.seconds >= (item.share or 1 / item.multiple)
    if item.seconds:
        return ours.seconds <= item.seconds if on_gpu or item.name == "user_file" else None
    return None


def compared(peer, ours):
    if peer is None:
        return ""
    return "error" if peer.error else f"{peer.seconds / ours.seconds:.2f}"


def table(results, items, on_gpu):
    """A heading and a row for every item that was measured."""
    limits = {item: result for (who, item), result in results.items() if who == "limit"}
    measured = [item for item in items if ("quarry", item.name) in results]
    who = [peer for peer in PEERS if any((peer, item.name) in results for item in measured)]
    yield ["work", "size", "Quarry", "limit", "of the limit", "goal", "met", *who]
    for item in measured:
        ours = results["quarry", item.name]
        if ours.error:
            yield [item.title, "", "error", "", "", goal(item), "no", *("" for _ in who)]
            continue
        limit = limit_seconds(item, ours, limits)
        theirs = [results.get((peer, item.name)) for peer in who]
        met = is_met(item, ours, limit, on_gpu)
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
    for part, items in PARTS.items():
        rows = list(table(results, items, on_gpu))
        if len(rows) > 1:
            yield f"\n### {part}\n"
            yield markdown(rows)
    limits = [
        [item, figure(result)]
        for (who, item), result in results.items()
        if who == "limit" and not item.startswith("driver_pool_")
    ]
    if limits:
        yield "\n### The machine's own calls in the same run\n"
        yield markdown([["call", "median"], *limits])
    errors = [(key, result.error) for key, result in results.items() if result.error]
    if errors:
        yield "\n### Failed\n"
        yield from (f"- {who}/{item}: {error}" for (who, item), error in errors)


def main(folder, command=""):
    results, context = load(folder)
    drawn = [(f"{name}.json", drawn_report.report) for name in ("shapes", "indexing")]
    parts = [("host.json", host_report.report), *drawn]
    tables = [(pathlib.Path(folder, name), table_of) for name, table_of in parts]
    if not results and not any(path.exists() for path, _ in tables):
        sys.exit(f"report.py: no results in {folder}")
    print("\n".join(report(results, context, command)))
    for path, table_of in tables:
        if path.exists():
            print("\n".join(table_of(json.loads(path.read_text()))))
    if any(result.error for (who, _), result in results.items() if who == "quarry"):
        sys.exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:3])
