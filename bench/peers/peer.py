# SPDX-License-Identifier: BSD-3-Clause
"""What the peers' benchmarks share: sizes, sampling and the result file. The items have the names
of those in bench/*.cpp, and their samples are taken in the same way."""

import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

LOG2 = int(os.environ.get("QUARRY_BENCH_LOG2", "28")) // 2 * 2
LARGE = 1 << LOG2
SIDE = 1 << LOG2 // 2
ROW = min(8192, LARGE)
SMALL = 1024
STEPS = 200
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class NotHere(Exception):
    """The library, or a GPU for it, is missing."""


class Peer:
    """Collects records; an item that fails is recorded with the reason and does not end the run."""

    def __init__(self, device_timer, synchronize):
        self.device_timer = device_timer
        self.synchronize = synchronize
        self.records = []

    def _record(self, who, item, measure):
        try:
            record = {"seconds": measure()}
        except Exception as error:  # whatever a library may throw
            record = {"error": f"{type(error).__name__}: {error}"[:200]}
        record.update(who=who, item=item)
        self.records.append(record)
        text = f"{1e6 * record['seconds']:12.2f} us" if "seconds" in record else record["error"]
        print(f"{who + '/' + item:32}", text, flush=True)

    def on_device(self, who, item, work):
        """Work queued on the device, timed there."""
        self._record(who, item, lambda: sample(lambda: self.device_timer(work)))

    def call(self, who, item, work):
        """Work that the host waits for."""
        self._record(who, item, lambda: sample(lambda: self.wall(work)))

    def issue(self, who, item, work):
        """The time of queueing something tiny, without the wait that follows."""
        self._record(who, item, lambda: sample(lambda: self.issue_seconds(work)))

    def seconds(self, who, item, one):
        """What `one()` returns, a mean of many calls."""
        self._record(who, item, lambda: sample(one))

    def once(self, who, item, work):
        """The first time that something is done."""
        self._record(who, item, lambda: self.wall(work))

    def wall(self, work):
        start = time.perf_counter()
        work()
        self.synchronize()
        return time.perf_counter() - start

    def issue_seconds(self, work, batch=500):
        start = time.perf_counter()
        for _ in range(batch):
            work()
        taken = (time.perf_counter() - start) / batch
        self.synchronize()
        return taken


def sample(one, warm_up=2):
    """The median of 15 samples, of fewer once 0.2 s are over, of three at least."""
    for _ in range(warm_up):
        one()
    samples, start = [], time.perf_counter()
    while len(samples) < 15 and (len(samples) < 3 or time.perf_counter() - start < 0.2):
        samples.append(one())
    return statistics.median(samples)


def copy_sizes():
    """Names and bytes of the contiguous copies."""
    return (("4KiB", 4 * KIB), ("1MiB", MIB), ("64MiB", 64 * MIB), ("1GiB", min(GIB, 4 * LARGE)))


def permuted_shape():
    p, q = 1 << LOG2 // 3, 1 << (LOG2 + 1) // 3
    return p, q, LARGE // p // q


def terrain():
    """The heights of examples/data, tiled as in bench/programs.cpp."""
    import numpy

    data = pathlib.Path(__file__).resolve().parents[2] / "examples/data/jacksboro.npy"
    tile = max(24 * SIDE // 16384, 1)
    return numpy.tile(numpy.load(data), (tile, tile))


def relief(f, z, dx=74.573, dy=92.475, azimuth=315.0, altitude=45.0):
    """Slope, aspect and shade as examples/hillshade computes them; `f` has the functions."""
    east = z[:-2, 2:] + 2 * z[1:-1, 2:] + z[2:, 2:]
    west = z[:-2, :-2] + 2 * z[1:-1, :-2] + z[2:, :-2]
    south = z[2:, :-2] + 2 * z[2:, 1:-1] + z[2:, 2:]
    north = z[:-2, :-2] + 2 * z[:-2, 1:-1] + z[:-2, 2:]
    x, y = (east - west) / (8 * dx), (south - north) / (8 * dy)
    slope, aspect = f.atan(f.hypot(x, y)), f.atan2(-x, y)
    up, level = math.sin(math.radians(altitude)), math.cos(math.radians(altitude))
    light = up * f.cos(slope) + level * f.sin(slope) * f.cos(aspect - math.radians(azimuth))
    return slope, aspect, 255 * f.positive(light)


def average(u):
    """The new inner cells of one step of heat."""
    return 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])


def run(name, measure):
    """The program: `measure()` gives the Peer with its records, unless the library is missing."""
    try:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["CUDA_CACHE_PATH"] = cache  # of the driver and of NVRTC
            peer = measure()
    except (ImportError, NotHere) as reason:
        print(f"{name}: left out ({reason})")
        return
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_text(json.dumps({"records": peer.records}, indent=1))
