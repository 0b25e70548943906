# SPDX-License-Identifier: BSD-3-Clause
"""A program that grows: its registers, and how operands are drawn."""
import numpy as np

from machine import DTYPES, FIRST_RESULT, Machine, pack_input, pack_step
from operations import MISSING, Unsuitable


def str_of(dtype):
    return next((n for n, d in DTYPES.items() if d == dtype), None)


def broadcasts(shape, to):
    try:
        return np.broadcast_shapes(shape, to) == tuple(to)
    except ValueError:
        return False


class Drawer:
    """A program that grows."""

    def __init__(self, random):
        self.random, self.machine = random, Machine()
        self.program = {"inputs": [], "steps": []}
        self.inputs, self.steps, self.next = [], [], FIRST_RESULT  # as bytes

    # what is drawn

    def between(self, low, high):
        return int(self.random.integers(low, high + 1))

    def chance(self, p):
        return self.random.random() < p

    def one_of(self, values):
        return values[self.between(0, len(values) - 1)]

    def shape(self, least=0, most=4):
        rank = self.between(least, most)
        if self.chance(0.08) and rank in (1, 2):
            return [[self.between(30, 300)], [self.between(3, 20), self.between(5, 40)]][rank - 1]
        return [self.between(0 if self.chance(0.1) else 1, 4) for _ in range(rank)]

    def broadcast(self, shape):
        """One that broadcasts to this one, nearly always."""
        kept = shape[self.between(0, len(shape)):] if self.chance(0.4) else shape
        return [1 if self.chance(0.2) else 5 if self.chance(0.01) else n for n in kept]

    def axis(self, rank):
        return self.between(-rank - 1, rank) if rank == 0 or self.chance(0.03) else \
            self.between(-rank, rank - 1)

    # registers

    def new(self, name, shape, low=-4, high=9):
        """A new input: a view of an array with other steps and another order of axes."""
        axes = [int(k) for k in self.random.permutation(len(shape))] if self.chance(0.4) else \
            list(range(len(shape)))
        steps = [self.one_of([1, 1, 1, 2, -1]) for _ in shape]
        base = [0] * len(shape)
        for d, axis in enumerate(axes):
            base[axis] = int(shape[d]) * abs(steps[axis])
        spec = [name, base, steps, axes, self.between(1, 10**6), int(low), int(high)]
        self.program["inputs"].append(spec)
        self.inputs.append(pack_input(self.machine, spec))
        return len(self.inputs) - 1

    def a(self, names, least=0, most=4, fits=lambda a: True):
        """The number of a register with one of these types."""
        found = [k for k, r in self.machine.registers.items() if least <= r.ndim <= most
                 and str_of(r.dtype) in names and fits(r)]
        if found and self.chance(0.8):
            return self.one_of(found)
        for _ in range(20):
            k = self.new(self.one_of(names), self.shape(least, most))
            if fits(self[k]):
                return k
        raise Unsuitable

    def of_shape(self, name, shape, near=None):
        """A register that broadcasts to a shape; of one that is written often a view of the same
        memory."""
        if near is not None and self.chance(0.5):
            k = self.overlapping(near, shape)
            if k is not None:
                return k
        found = [k for k, r in self.machine.registers.items()
                 if str_of(r.dtype) == name and broadcasts(r.shape, shape)]
        if found and self.chance(0.6):
            return self.one_of(found)
        return self.new(name, self.broadcast(list(shape)))

    def overlapping(self, near, shape):
        """A view with this shape of a register that shares memory with this one, or None."""
        if self[near].size == 0:
            return None
        whole = self.one_of([k for k, r in self.machine.registers.items() if r.dtype ==
                             self[near].dtype and np.may_share_memory(r, self[near])])
        extents = self[whole].shape
        ahead = len(extents) - len(shape)
        if ahead < 0 or any(n > m for n, m in zip(shape, extents[ahead:])) or 0 in extents:
            return None
        codes = [[0, self.between(0, m - 1), 0, 1] for m in extents[:ahead]]
        codes += [self.exactly(n, m) for n, m in zip(shape, extents[ahead:])]
        return self.record("index", [whole], [[v for code in codes for v in code]])[0]

    def exactly(self, count, extent):
        """The code of a range of so many of the positions of an axis."""
        if count == 0:
            return [1, 0, 0, 1]
        step = self.between(1, min((extent - 1) // (count - 1) if count > 1 else 1, 3))
        first = self.between(0, extent - 1 - (count - 1) * step)
        last = first + (count - 1) * step
        if self.chance(0.6):
            return [1, first, last + 1, step]
        return [1, last, MISSING if first == 0 else first - 1, -step]

    def positions(self, n, shape, modes=False):
        """Positions on an axis of n elements."""
        reach = n + 3 if modes or self.chance(0.02) else n
        if n == 0 and not modes:
            shape = [0]
        return self.new(self.one_of(["int32", "int64"]), shape, -max(reach, 1),
                        max(reach - 1, 0))

    def __getitem__(self, k):
        return self.machine.registers[k]

    def record(self, name, operands, arguments):
        """Executes a step, and returns its results."""
        step = [name, operands, [[int(v) for v in a] for a in arguments],
                list(range(self.next, self.next + 20))]
        outcome = self.machine.execute(step)
        step[3] = step[3][: len(outcome.arrays)]
        for k in [k for k in self.machine.registers if k >= self.next and k not in step[3]]:
            del self.machine.registers[k]
        self.next += len(outcome.arrays)
        self.program["steps"].append(step)
        self.steps.append(pack_step(self.machine, step, outcome))
        return step[3]
