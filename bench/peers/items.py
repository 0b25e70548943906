# SPDX-License-Identifier: BSD-3-Clause
"""The work items that are the same in every peer: copies as in bench/transfers.cpp, allocation as
in tools/workloads.cpp. A peer says how each thing is done there."""

import dataclasses
import itertools
import time
import typing

import peer as p

VIEWS = {
    "strided": lambda m: m[:, ::2],
    "transposed": lambda m: m.T,
    "columns": lambda m: m[:, : len(m) // 8],
}


@dataclasses.dataclass
class Copies:
    """How a peer makes float32 arrays of a shape (random where they are copied from) and copies
    them; what it has not is None."""

    pageable: typing.Callable  # shape -> host array
    to_device: typing.Callable  # host array, any strides -> new dense device array
    pinned: typing.Callable = None  # shape -> page-locked host array
    device: typing.Callable = None  # shape -> device array
    up: typing.Callable = None  # (device array, host array), both dense
    down: typing.Callable = None  # (dense host array, device array of any strides)
    down_into: typing.Callable = None  # (host array of any strides, dense device array)


def transfers(peer, who, copies):
    for prefix, host_of in (("", copies.pageable), ("pinned_", copies.pinned)):
        if host_of:
            contiguous(peer, who, copies, prefix, host_of)
            strided(peer, who, copies, prefix, host_of)


def contiguous(peer, who, copies, prefix, host_of):
    for name, size in p.copy_sizes():
        host = host_of((size // 4,))
        if not copies.up:
            peer.call(who, f"{prefix}h2d_{name}", lambda: copies.to_device(host))
            continue
        device = copies.device((size // 4,))
        peer.call(who, f"{prefix}h2d_{name}", lambda: copies.up(device, host))
        peer.call(who, f"{prefix}d2h_{name}", lambda: copies.down(host, device))


def strided(peer, who, copies, prefix, host_of):
    n = p.SIDE // 2
    host = host_of((n, n))
    for name, view in VIEWS.items():
        peer.call(who, f"{prefix}h2d_{name}", lambda: copies.to_device(view(host)))
        if copies.down:
            device = copies.to_device(host)
            into = host_of(tuple(view(host).shape))
            peer.call(who, f"{prefix}d2h_{name}", lambda: copies.down(into, view(device)))
        if copies.down_into:
            device = copies.device(tuple(view(host).shape))
            peer.call(who, f"{prefix}d2h_into_{name}", lambda: copies.down_into(view(host), device))


# --- allocation -----------------------------------------------------------------------------------

SIZES = {
    "256B": 256,
    "1KiB": p.KIB,
    "4KiB": 4 * p.KIB,
    "64KiB": 64 * p.KIB,
    "1MiB": p.MIB,
    "32MiB": 32 * p.MIB,
    "1GiB": p.GIB,
}
DEPTH = 64


class Engine:
    """std::minstd_rand0 with its default seed, and libstdc++'s uniform_int_distribution, so that
    the steps are those of the C++ program."""

    def __init__(self):
        self.state = 1

    def below(self, count):
        """Uniform in [0, count), for count < 2^31 - 2."""
        scaling = 2147483645 // count
        while True:
            self.state = self.state * 16807 % 2147483647
            if self.state - 1 < count * scaling:
                return (self.state - 1) // scaling


def random_steps(count, most_bytes):
    """(bytes, victim) of each step: an allocation, or for 0 bytes the end of a block."""
    engine, steps, live, live_bytes, made = Engine(), [], [], 0, 0
    for _ in range(2 * count):
        size = 1 + engine.below(most_bytes)
        makes = not live or (
            engine.below(100) < 73 and made < count and live_bytes + size < 16000 * p.MIB
        )
        if makes:
            steps.append((size, 0))
            live.append(size)
            live_bytes += size
            made += 1
        else:
            victim = engine.below(count) % len(live)
            steps.append((0, victim))
            live_bytes -= live[victim]
            live[victim] = live[-1]
            live.pop()
    return steps


def timed(work, count):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) / count


def allocation(peer, who, allocate, free, count=500, with_holes=True):
    """`free` is called with what `allocate` gave, of which no other reference is kept then. The
    times have Python's own in them: the call of both functions and the loop around it. `count`
    says how often a call is repeated for a sample; `with_holes` is for those that are fast."""
    for name, size in SIZES.items():
        peer.seconds(who, f"pair_{name}", lambda: pairs(allocate, free, size, count))
    for name, size in SIZES.items():
        if size != p.KIB and size <= 32 * p.MIB:
            last_in_first_out(peer, who, allocate, free, name, size)
            first_in_first_out(peer, who, allocate, free, name, size)
    for number, megabytes in ((1000, 1), (10000, 1), (1000, 64)):
        steps = random_steps(number, megabytes * p.MIB)
        item = f"random_{number}_{megabytes}MiB"
        peer.seconds(who, item, lambda: replay(steps, allocate, free))
    for number, hole in itertools.product((4096, 65536) if with_holes else (), (1024, 512)):
        holes(peer, who, allocate, free, number, hole, count)


def pairs(allocate, free, size, count):
    def work():
        for _ in itertools.repeat(None, count):
            free(allocate(size))

    return timed(work, count)


def last_in_first_out(peer, who, allocate, free, name, size):
    live = []

    def work():
        for _ in itertools.repeat(None, DEPTH):
            live.append(allocate(size))
        while live:
            free(live.pop())

    peer.seconds(who, f"lifo_{name}", lambda: timed(work, DEPTH))


def first_in_first_out(peer, who, allocate, free, name, size):
    live = []

    def work():
        for i in range(DEPTH):
            free(live[i])
            live[i] = None  # the end of the block where references are counted
            live[i] = allocate(size)

    def one():
        while len(live) < DEPTH:
            live.append(allocate(size))
        return timed(work, DEPTH)

    peer.seconds(who, f"fifo_{name}", one)
    while live:
        free(live.pop())


def replay(steps, allocate, free):
    live = []

    def work():
        for size, victim in steps:
            if size:
                live.append(allocate(size))
            else:
                free(live[victim])
                live[victim] = live[-1]
                live.pop()

    seconds = timed(work, len(steps))
    while live:
        free(live.pop())
    return seconds


def holes(peer, who, allocate, free, number, hole, count):
    freed, guards = [], []

    def one():
        if not guards:
            for _ in range(number):
                freed.append(allocate(hole))
                guards.append(allocate(512))
            while freed:
                free(freed.pop())
        return pairs(allocate, free, p.KIB, count)

    peer.seconds(who, f"holes_{number}_{hole}", one)
    while guards:
        free(guards.pop())
