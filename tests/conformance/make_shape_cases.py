# SPDX-License-Identifier: BSD-3-Clause
"""Writes shape_cases.bin: drawn calls of NumPy's shape functions and what they give.

    pip install numpy && python make_shape_cases.py

An entry for each function, as in cases.bin, with its calls one after the other: inputs (shape,
steps and permutation of axes), arguments (lists of integers), then the number of results, or 255
if NumPy refuses, and for each result its shape, whether it is a view of the first input, and its
elements. All elements are int32.
"""
import struct
from pathlib import Path

import numpy as np

from drawn_calls import Call, chance, draw, draw_axes, draw_axis, draw_shape, random
from join_cases import JOINS, REARRANGED
from layout_cases import pack_dims

REFUSED = 255
COUNT = 60


def with_axis(function):
    def call(c):
        a = c.array(draw_shape(0, 4))
        axis = c.argument(draw_axis(a.ndim))
        return lambda: function(a, axis)
    return call


def plain(function, low=0):
    def call(c):
        a = c.array(draw_shape(low, 4))
        return lambda: function(a)
    return call


def expand_dims(c):
    a = c.array(draw_shape(0, 3))
    count = draw(0, 3)
    axes = c.argument([draw_axis(a.ndim + count) for _ in range(count)])
    return lambda: np.expand_dims(a, tuple(axes))


def swapaxes(c):
    a = c.array(draw_shape(0, 4))
    first, second = c.argument(draw_axis(a.ndim)), c.argument(draw_axis(a.ndim))
    return lambda: np.swapaxes(a, first, second)


def moveaxis(c):
    a = c.array(draw_shape(0, 4))
    source = c.argument(draw_axes(a.ndim))
    to = [int(d) for d in random.permutation(max(a.ndim, 1))[:len(source)]]
    to = c.argument([draw_axis(a.ndim)] if chance(0.1) else to)
    return lambda: np.moveaxis(a, source, to)


def rollaxis(c):
    a = c.array(draw_shape(0, 4))
    axis, start = c.argument(draw_axis(a.ndim)), c.argument(draw_axis(a.ndim))
    return lambda: np.rollaxis(a, axis, start)


def squeeze(c):
    a = c.array(tuple(1 if chance(0.5) else draw(0, 3) for _ in range(draw(0, 4))))
    units = [d for d, n in enumerate(a.shape) if n == 1]
    axes = c.argument(draw_axes(a.ndim) if chance(0.2) or not units else units[:draw(1, 3)])
    return lambda: np.squeeze(a, tuple(axes))


def transpose(c):
    a = c.array(draw_shape(0, 4))
    axes = c.argument(draw_axes(a.ndim) if chance(0.2) else
                      [int(d) for d in random.permutation(a.ndim)])
    return lambda: np.transpose(a, axes)


def diagonal(c):
    a = c.array(draw_shape(1, 4))
    offset = c.argument(draw(-5, 5))
    first, second = c.argument(draw_axis(a.ndim)), c.argument(draw_axis(a.ndim))
    return lambda: np.diagonal(a, offset, first, second)


def flip(c):
    a = c.array(draw_shape(0, 4))
    axes = c.argument(draw_axes(a.ndim))
    return lambda: np.flip(a, tuple(axes))


def rot90(c):
    a = c.array(draw_shape(1, 4))
    k = c.argument(draw(-5, 5))
    axes = c.argument([draw_axis(a.ndim), draw_axis(a.ndim)])
    return lambda: np.rot90(a, k, axes)


def broadcast(c):
    shape = draw_shape(0, 4)

    def part():
        kept = shape[draw(0, len(shape)):] if chance(0.5) else shape
        return c.array(tuple(1 if chance(0.4) else 5 if chance(0.03) else n for n in kept))
    a, b = part(), part()
    return lambda: list(np.broadcast_arrays(a, b))


def sliding_window_view(c):
    a = c.array(draw_shape(1, 3, 1, 5))
    axes = c.argument([draw(-a.ndim, a.ndim - 1) for _ in range(draw(1, 2))])
    window = c.argument([draw(-1 if chance(0.1) else 0, 3) for _ in axes])
    return lambda: np.lib.stride_tricks.sliding_window_view(a, tuple(window), tuple(axes))


def split_by_count(function):
    def call(c):
        a = c.array(draw_shape(0, 4, 0, 6))
        count, axis = c.argument(draw(0, 4)), c.argument(draw_axis(a.ndim))
        return lambda: function(a, count, axis)
    return call


def split_at(c):
    a = c.array(draw_shape(1, 3, 0, 6))
    at = c.argument([draw(-2, 7) for _ in range(draw(0, 3))])
    axis = c.argument(draw_axis(a.ndim))
    return lambda: np.split(a, at, axis)


def split_along(function):
    def call(c):
        a = c.array(draw_shape(0, 4, 0, 4))
        count = c.argument(draw(1, 3))
        return lambda: function(a, count)
    return call


VIEWS = {
    "expand_dims": expand_dims, "swapaxes": swapaxes, "moveaxis": moveaxis, "rollaxis": rollaxis,
    "squeeze": squeeze, "transpose": transpose, "diagonal": diagonal, "flip": flip,
    "flip_all": plain(np.flip), "fliplr": plain(np.fliplr), "flipud": plain(np.flipud),
    "rot90": rot90, "atleast_1d": plain(np.atleast_1d), "atleast_2d": plain(np.atleast_2d),
    "atleast_3d": plain(np.atleast_3d), "broadcast_arrays": broadcast,
    "sliding_window_view": sliding_window_view, "split": split_by_count(np.split),
    "array_split": split_by_count(np.array_split), "split_at": split_at,
    "hsplit": split_along(np.hsplit), "vsplit": split_along(np.vsplit),
    "dsplit": split_along(np.dsplit),
}


def strides(array):
    """As an array; those of unit axes say nothing."""
    pairs = zip(array.shape, array.strides)
    return np.array([step if n > 1 else 0 for n, step in pairs], np.int32)


def strides_like(c):
    a = c.array(draw_shape(0, 4, 1))
    order = c.argument(draw(0, 3))

    return lambda: strides(np.empty_like(a, order="KCFA"[order], subok=False))


def strides_of_sum(c):
    a = c.array(draw_shape(2, 4, 1))
    axes = c.argument([int(d) for d in random.permutation(a.ndim)[:draw(0, 2)]])
    return lambda: strides(np.sum(a, tuple(axes)))


def strides_of_added(c):
    a = c.array(draw_shape(2, 4, 1))
    b = c.array([n if chance(0.8) else 1 for n in a.shape][0 if chance(0.8) else 1:])
    return lambda: strides(a + b)


def eye(c):
    n, m, k = c.argument(draw(-1 if chance(0.05) else 0, 5)), c.argument(draw(0, 5)), \
        c.argument(draw(-7, 7))
    return lambda: np.eye(n, m, k)


def tri(c):
    n, m, k = c.argument(draw(0, 5)), c.argument(draw(0, 5)), c.argument(draw(-7, 7))
    return lambda: np.tri(n, m, k)


def with_offset(function, low=0):
    def call(c):
        a = c.array(draw_shape(low, 4) if chance(0.3) else draw_shape(1, 2))
        k = c.argument(draw(-5, 5))
        return lambda: function(a, k)
    return call


def vander(c):
    a = c.array((draw(0, 4),) if chance(0.9) else draw_shape(0, 2))
    columns, increasing = c.argument(draw(0, 4)), c.argument(draw(0, 1))
    return lambda: np.vander(a, columns, bool(increasing))


def indices(c):
    shape = c.argument(draw_shape(0, 4))
    return lambda: np.indices(shape)


def fromfunction(c):
    n, m = c.argument(draw(0, 5)), c.argument(draw(0, 5))
    return lambda: np.fromfunction(lambda i, j: 10 * i + j, (n, m))


def meshgrid(count, **options):
    def call(c):
        parts = [c.array(draw_shape(0, 2) if chance(0.1) else (draw(0, 4),)) for _ in range(count)]
        return lambda: [np.array(r) for r in np.meshgrid(*parts, **options)]
    return call


def mgrid(grid):
    def call(c):
        # NumPy's mgrid refuses a range that ends before it begins
        a, b, d = c.argument(draw(-3, 3)), c.argument(draw(3, 7)), c.argument(draw(1, 3))
        return lambda: np.array(grid[a:b:d, 0:3]) if grid is np.mgrid else list(grid[a:b:d, 0:3])
    return call


CREATION = {
    "strides_like": strides_like, "eye": eye, "tri": tri, "diag": with_offset(np.diag),
    "diagflat": with_offset(np.diagflat), "tril": with_offset(np.tril),
    "triu": with_offset(np.triu), "vander": vander, "indices": indices,
    "fromfunction": fromfunction, "meshgrid": meshgrid(2), "meshgrid3": meshgrid(3),
    "meshgrid_ij": meshgrid(3, indexing="ij"), "meshgrid_sparse": meshgrid(2, sparse=True),
    "mgrid": mgrid(np.mgrid), "ogrid": mgrid(np.ogrid),
}

RESULTS = {"strides_of_sum": strides_of_sum, "strides_of_added": strides_of_added}


def result_of(call, compute):
    try:
        results = compute()
    except (ValueError, IndexError, TypeError, ZeroDivisionError):
        return struct.pack("<B", REFUSED)
    results = results if isinstance(results, list) else [results]
    packed = struct.pack("<B", len(results))
    for r in results:
        shares = r.size > 0 and np.shares_memory(r, call.inputs[0]) if call.inputs else False
        packed += pack_dims(r.shape) + struct.pack("<B", shares)
        packed += np.ascontiguousarray(r, np.int32).tobytes()
    return packed


def main():
    data = bytearray()
    for name, draw_call in (VIEWS | CREATION | JOINS | REARRANGED | RESULTS).items():
        payload = bytearray()
        for _ in range(COUNT):
            call = Call()
            compute = draw_call(call)
            payload += struct.pack("<B", len(call.inputs)) + call.packed
            payload += struct.pack("<B", len(call.arguments))
            payload += b"".join(pack_dims(a) for a in call.arguments)
            payload += result_of(call, compute)
        key = f"shape/{name}"
        data += struct.pack("<B", len(key)) + key.encode() + struct.pack("<I", len(payload))
        data += payload
    Path(__file__).with_name("shape_cases.bin").write_bytes(data)
    print(f"NumPy {np.__version__}", len(data), "bytes")


if __name__ == "__main__":
    main()
