# SPDX-License-Identifier: BSD-3-Clause
"""The shape functions of the conformance tests as steps: shape/NAME of arrays and lazy/NAME of
expressions. Their first argument is the seed with which they draw the others."""
import sys
from pathlib import Path

import numpy as np

import operations

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "conformance"))
import drawn_calls  # noqa: E402
from make_shape_cases import CREATION, VIEWS  # noqa: E402
from join_cases import JOINS, REARRANGED  # noqa: E402

FUNCTIONS = VIEWS | CREATION | JOINS | REARRANGED
# of arrays only
NOT_LAZY = {"strides_like", "eye", "tri", "indices", "fromfunction", "meshgrid3", "meshgrid_ij",
            "meshgrid_sparse", "mgrid", "ogrid"}


def reseed(seed):
    drawn_calls.random.bit_generator.state = np.random.default_rng(seed).bit_generator.state


class Given:
    """A call whose arrays and arguments are there."""

    def __init__(self, operands, arguments):
        self.operands, self.arguments = iter(operands), iter(arguments)
        self.inputs = []

    def array(self, shape):
        self.inputs.append(next(self.operands))
        return self.inputs[-1]

    def argument(self, *values):
        given = next(self.arguments)
        return given if isinstance(values[0], (list, tuple)) else given[0]


class Drawn:
    """A call that takes registers, and notes its arguments."""

    def __init__(self, drawer):
        self.drawer, self.registers, self.arguments, self.inputs = drawer, [], [], []

    def array(self, shape):
        d = self.drawer
        found = [k for k, r in d.machine.registers.items()
                 if r.dtype == np.int32 and r.shape == tuple(shape)]
        self.registers.append(d.one_of(found) if found and d.chance(0.5) else
                              d.new("int32", shape))
        self.inputs.append(d[self.registers[-1]])
        return self.inputs[-1]

    def argument(self, *values):
        given = values[0] if isinstance(values[0], (list, tuple)) else values
        self.arguments.append([int(v) for v in given])
        return values[0]


def draw(d):
    name, seed = d.one_of(sorted(FUNCTIONS)), d.between(0, 10**6)
    reseed(seed)
    call = Drawn(d)
    FUNCTIONS[name](call)
    kind = "lazy" if name not in NOT_LAZY and d.chance(0.3) else "shape"
    return f"{kind}/{name}", call.registers, [[seed], *call.arguments]


def as_int32(result, copied):
    if result.dtype == np.int32 and not copied:
        return result
    return np.array(result, np.int32, order="C")


def step(copied):
    def compute(name, operands, arguments):
        reseed(arguments[0][0])
        results = FUNCTIONS[name](Given(operands, arguments[1:]))()
        results = results if isinstance(results, list) else [results]
        return [as_int32(r, copied) for r in results]
    return operations.refusing(compute)


operations.OPERATIONS["shape"] = step(False)
operations.OPERATIONS["lazy"] = step(True)
