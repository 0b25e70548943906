# SPDX-License-Identifier: BSD-3-Clause
"""The part of make_shape_cases.py about joins, and about functions that move elements."""
import numpy as np

from drawn_calls import chance, draw, draw_axes, draw_axis, draw_shape


def parts(c, shape_of, low=1, high=3):
    """Arrays whose shapes `shape_of` draws."""
    return [c.array(shape_of()) for _ in range(draw(low, high))]


def alike(low=0, high=3):
    """Shapes that differ along one axis, or do not fit."""
    shape, rank = list(draw_shape(low, high)), None
    rank = len(shape)
    axis = draw(0, rank - 1) if rank else 0

    def shape_of():
        own = list(shape)
        if rank:
            own[axis] = draw(0, 3)
        if chance(0.05):
            own = own + [1]
        return tuple(own)
    return axis, rank, shape_of


def concatenate(c):
    axis, rank, shape_of = alike()
    arrays = parts(c, shape_of)
    axis = c.argument(axis - rank if chance(0.3) else draw_axis(rank) if chance(0.1) else axis)
    return lambda: np.concatenate(arrays, axis)


def concatenate_flat(c):
    arrays = parts(c, lambda: draw_shape(0, 3))
    return lambda: np.concatenate(arrays, None)


def stack(c):
    shape = draw_shape(0, 3)
    arrays = parts(c, lambda: shape + (1,) if chance(0.05) else shape)
    axis = c.argument(draw_axis(len(shape) + 1))
    return lambda: np.stack(arrays, axis)


def stack_along(function, joined):
    """Parts that fit if seen with two or three axes."""
    def call(c):
        shape = list(draw_shape(0, 3, 1, 3))

        def shape_of():
            own = list(shape)
            if len(own) > joined:
                own[joined] = draw(0, 3)
            return tuple(own) if chance(0.97) else (2, 2, 2)
        arrays = parts(c, shape_of)
        return lambda: function(arrays)
    return call


def block(c):
    rows, left, right = [draw(1, 3) for _ in range(2)], draw(0, 3), draw(0, 3)
    shapes = [(rows[0], left), (rows[0], right), (rows[1], left), (rows[1], right)]
    if chance(0.2):
        shapes = [(left,), (right,), (left,), (right,)]
    if chance(0.1):
        shapes[3] = (1, 1)
    a, b, d, e = (c.array(s) for s in shapes)
    return lambda: np.block([[a, b], [d, e]])


def block_row(c):
    rows = draw_shape(0, 2)
    arrays = [c.array(rows + (draw(0, 3),)) for _ in range(2)]
    return lambda: np.block(arrays)


def tile(c):
    a = c.array(draw_shape(0, 3))
    counts = c.argument([draw(-1 if chance(0.02) else 0, 3) for _ in range(draw(0, 4))])
    return lambda: np.tile(a, counts)


def repeat(c):
    a = c.array(draw_shape(0, 3))
    count, axis = c.argument(draw(0, 3)), c.argument(draw_axis(a.ndim))
    return lambda: np.repeat(a, count, axis)


def repeat_flat(c):
    a = c.array(draw_shape(0, 3))
    count = c.argument(draw(0, 3))
    return lambda: np.repeat(a, count)


def repeat_each(c):
    a = c.array(draw_shape(1, 3))
    axis = c.argument(draw(-a.ndim, a.ndim - 1))
    n = 1 if chance(0.1) else a.shape[axis] + (1 if chance(0.05) else 0)
    counts = c.argument([draw(0, 3) for _ in range(n)])
    return lambda: np.repeat(a, counts, axis)


def roll(c):
    a = c.array(draw_shape(0, 3))
    axes = c.argument([draw_axis(a.ndim) for _ in range(draw(1, 3))])
    shifts = c.argument([draw(-9, 9) for _ in range(1 if chance(0.2) else len(axes))])
    return lambda: np.roll(a, shifts, axes)


def roll_flat(c):
    a = c.array(draw_shape(0, 3))
    shift = c.argument(draw(-30, 30))
    return lambda: np.roll(a, shift)


def resize(c):
    a = c.array(draw_shape(0, 3))
    shape = c.argument(draw_shape(0, 3))
    return lambda: np.resize(a, shape)


def axis_or_none(c, a):
    """An axis, of which the argument says whether there is one."""
    if chance(0.2) or a.ndim == 0:
        c.argument(0, 0)
        return None
    axis = draw_axis(a.ndim)
    c.argument(1, axis)
    return axis


def extent(a, axis):
    if axis is None:
        return a.size
    return a.shape[axis] if -a.ndim <= axis < a.ndim else 3


def delete(c):
    a = c.array(draw_shape(0, 3, 0, 5))
    axis = axis_or_none(c, a)
    n = extent(a, axis)
    at = c.argument(draw(-n - 1, n))
    return lambda: np.delete(a, at, axis)


def delete_list(c):
    a = c.array(draw_shape(0, 2, 0, 30))
    axis = axis_or_none(c, a)
    n = extent(a, axis)
    count = draw(0, 12) if n else 0
    at = c.argument([draw(-n, n if chance(0.02) else n - 1) for _ in range(count)])
    return lambda: np.delete(a, at, axis)


def delete_range(c):
    a = c.array(draw_shape(0, 2, 0, 30))
    axis = axis_or_none(c, a)
    first, last, step = (c.argument(n) for n in (draw(-9, 9), draw(-9, 30), draw(1, 3)))
    step = c.argument(-step if chance(0.3) else step)
    return lambda: np.delete(a, slice(first, last, step), axis)


def insert(c):
    a = c.array(draw_shape(0, 3))
    axis = axis_or_none(c, a)
    n = extent(a, axis)
    at = c.argument(draw(-n - 1, n + 1))
    rest = [3]
    if axis is not None and -a.ndim <= axis < a.ndim:
        rest = list(a.shape)
        rest.pop(axis)
    values = c.array(() if chance(0.3) else tuple(rest))
    return lambda: np.insert(a, at, values, axis)


def insert_list(c):
    a = c.array(draw_shape(1, 3))
    axis = c.argument(draw(-a.ndim, a.ndim - 1))
    n = a.shape[axis]
    at = c.argument([draw(-n, n) for _ in range(draw(1, 4))])
    shape = list(a.shape)
    shape[axis] = len(at)
    values = c.array(() if chance(0.3) else tuple(shape))
    return lambda: np.insert(a, at, values, axis)


def append(c):
    axis, rank, shape_of = alike(1)
    a, b = c.array(shape_of()), c.array(shape_of())
    axis = c.argument(axis)
    return lambda: np.append(a, b, axis)


def append_flat(c):
    a, b = c.array(draw_shape(0, 3)), c.array(draw_shape(0, 2))
    return lambda: np.append(a, b)


def trim_zeros(c):
    """Compares with a number, so that there are zeros."""
    a = c.array(draw_shape(1, 3, 1))
    below = c.argument(draw(-1, 30))
    trim = c.argument(draw(0, 2))
    axes = c.argument(draw_axes(a.ndim) if chance(0.5) else list(range(a.ndim)))
    zeroed = np.where((a % 7 == 0) & (a < below), a, 0)
    return lambda: np.trim_zeros(zeroed, ["fb", "f", "b"][trim], tuple(axes))


def pad(mode, **options):
    def call(c):
        a = c.array(draw_shape(1, 3, 0 if chance(0.1) else 1, 4))
        most = draw(0, 9 if a.ndim == 1 else 4 if a.ndim == 2 else 2)
        widths = [draw(-1 if chance(0.01) else 0, most) for _ in range(2 * a.ndim)]
        pairs = np.array(c.argument(widths)).reshape(-1, 2)
        own = dict(options)
        if "end_values" in options:
            own["end_values"] = c.argument(draw(-9, 9))
        if "constant_values" in options:
            own["constant_values"] = c.argument([draw(-9, 9), draw(-9, 9)])
        if "stat_length" in options:
            own["stat_length"] = c.argument([draw(1, 5), draw(1, 5)])
        return lambda: np.pad(a, pairs, mode, **own)
    return call


JOINS = {
    "concatenate": concatenate, "concatenate_flat": concatenate_flat, "stack": stack,
    "hstack": stack_along(np.hstack, 1), "vstack": stack_along(np.vstack, 0),
    "dstack": stack_along(np.dstack, 2), "column_stack": stack_along(np.column_stack, 1),
    "block": block, "block_row": block_row, "append": append, "append_flat": append_flat,
}
REARRANGED = {
    "tile": tile, "repeat": repeat, "repeat_flat": repeat_flat, "repeat_each": repeat_each,
    "roll": roll, "roll_flat": roll_flat, "resize": resize, "delete": delete,
    "delete_list": delete_list, "delete_range": delete_range, "insert": insert,
    "insert_list": insert_list, "trim_zeros": trim_zeros,
    "pad": pad("constant", constant_values=0), "pad_edge": pad("edge"),
    "pad_linear_ramp": pad("linear_ramp", end_values=0), "pad_maximum": pad("maximum"),
    "pad_minimum": pad("minimum", stat_length=0), "pad_mean": pad("mean", stat_length=0),
    "pad_median": pad("median", stat_length=0), "pad_reflect": pad("reflect"),
    "pad_reflect_odd": pad("reflect", reflect_type="odd"), "pad_symmetric": pad("symmetric"),
    "pad_symmetric_odd": pad("symmetric", reflect_type="odd"), "pad_wrap": pad("wrap"),
}
