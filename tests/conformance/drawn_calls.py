# SPDX-License-Identifier: BSD-3-Clause
"""What make_shape_cases.py draws: numbers, shapes, and the inputs and arguments of a call."""
import numpy as np

from layout_cases import pack_dims

random = np.random.default_rng(7)


def draw(low, high):
    """low <= result <= high"""
    return int(random.integers(low, high + 1))


def draw_shape(low, high, least=0, most=4):
    return tuple(draw(least, most) for _ in range(draw(low, high)))


def chance(p):
    return random.random() < p


class Call:
    """The inputs and the arguments of one call."""

    def __init__(self):
        self.inputs, self.arguments, self.packed = [], [], bytearray()

    def array(self, shape):
        """Of this shape, a view of an array with other steps and another order of axes."""
        axes = [int(d) for d in random.permutation(len(shape))] if chance(0.5) else \
            list(range(len(shape)))
        steps = [int(random.choice([1, 1, 1, 2, -1])) for _ in shape]
        base = [0] * len(shape)
        for d, axis in enumerate(axes):
            base[axis] = shape[d] * abs(steps[axis])
        values = np.arange(np.prod(base, dtype=int), dtype=np.int32).reshape(base)
        values += 1000 * len(self.inputs)
        view = values[tuple(slice(None, None, s) for s in steps)].transpose(axes)
        assert view.shape == tuple(shape)
        self.packed += pack_dims(base) + pack_dims(steps) + pack_dims(axes)
        self.inputs.append(view)
        return view

    def argument(self, *values):
        """Integers, or one list of them."""
        listed = [int(v) for v in (values[0] if isinstance(values[0], (list, tuple)) else values)]
        self.arguments.append(listed)
        return values[0]


def draw_axis(rank):
    """Nearly always one that there is."""
    return draw(-rank - 1, rank) if chance(0.1) or rank == 0 else draw(-rank, rank - 1)


def draw_axes(rank):
    if rank == 0 or chance(0.1):
        return [draw_axis(rank) for _ in range(draw(0, 2))]
    axes = [int(d) for d in random.permutation(rank)[:draw(1, rank)]]
    return [d - rank if chance(0.3) else d for d in axes]
