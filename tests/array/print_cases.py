# SPDX-License-Identifier: BSD-3-Clause
"""Writes print_cases.inc: what NumPy prints for arrays of every type, for format_test.cpp.

Usage: print_cases.py > print_cases.inc      (NumPy 2.4)
"""

import sys

import numpy as np

rng = np.random.default_rng(2026)
TYPES = ["bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]
INTS = [t for t in TYPES if "int" in t]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
SHAPES = [(), (0,), (0, 3), (2, 0, 2), (1,), (1, 1, 1), (5,), (40,), (3, 4), (2, 3, 4),
          (2, 1, 2, 2)]
LARGE = [(1001,), (50, 50), (1, 2000), (7, 7, 30), (2, 2, 2, 200), (6, 200)]
SPECIAL = [
    [0.0], [-0.0], [1.0], [1.0, 2.5, 3.0], [np.nan], [np.inf], [-np.inf], [np.nan, 1.0],
    [np.inf, -1.5], [-np.inf, 1.25], [np.nan, -np.inf, 1e-7], [np.nan, np.inf, 123456.0], [1e-4],
    [9.9e-5], [1e-4, 0.1], [1e-4, 0.2], [0.001, 1.0], [0.001, 1.001], [1e8], [99999999.0],
    [1e7, 1.0], [999999.0], [1e6], [999.0], [1000.0], [1024.0], [1e3, 1.0], [1e16], [1e15],
    [123456789.0, 0.1], [0.1, 0.2, 0.3], [1 / 3, 2 / 3], [1 / 3, 100.0], [-1 / 3, 100.0],
    [1e-300, 1.0], [1e300, 1e-300], [5e-324], [2.0**-1074, 2.0**-1022], [1.7976931348623157e308],
    [3.4028235e38], [1e-45], [6e-8], [65504.0], [65504.0, 1e-7], [0.5, 0.125, 0.0625],
    [2.0**-30, 2.0**-20], [1e10, 1.5], [-1.0, 0.0], [12345678.9, 1.0], [0.1, -0.0, np.nan],
    [1e100, np.inf], [-1e-100, np.nan, -np.inf], [0.30000000000000004, 1e22], [2.5e-5, 3.5e-5],
    [123.456, 1.5, 99.99], [1.123456785, 1.0], [0.123456785], [1e23, 9007199254740993.0],
    [4.35, 0.0001], [2.675, 1.005],
]
OPTIONS = [dict(precision=3), dict(suppress=True), dict(precision=2, suppress=True),
           dict(precision=0), dict(precision=17), dict(linewidth=30),
           dict(threshold=3, edgeitems=1)]
DEFAULTS = dict(precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=False)


def sample(dtype, count):
    if dtype == "bool_":
        return rng.integers(0, 2, count).astype(bool)
    if dtype in INTS:
        info = np.iinfo(dtype)
        bound = min(info.max, 10 ** int(rng.integers(1, 20)))
        return rng.integers(max(info.min, -bound), bound, count, dtype=dtype, endpoint=True)
    if dtype in COMPLEX:
        real = np.float32 if dtype == "complex64" else np.float64
        parts = np.stack([sample(real.__name__, count), sample(real.__name__, count)], -1)
        return parts.view(dtype)[..., 0]
    kind = rng.integers(0, 5)
    values = [rng.normal(size=count), rng.integers(-50, 50, count) / 4,
              rng.normal(size=count) * 1e5, rng.integers(0, 1000, count) / 1000,
              10.0 ** rng.uniform(-6, 6, count)][kind]
    values = np.asarray(values)
    if rng.integers(0, 4) == 0 and count > 1:
        values[rng.integers(0, count)] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0])
    return values.astype(dtype)


def text_of(array, options):
    with np.printoptions(**options):
        return str(array)


def emit(values, shape, **options):
    """One case: `values` repeated over `shape`."""
    empty = np.prod(shape) == 0
    array = np.zeros(shape, values.dtype) if empty else np.resize(values, shape)
    fields = ", ".join(str(options.get(k, d)).lower() for k, d in DEFAULTS.items())
    lines = text_of(array, options).split("\n")
    literal = "".join(f'\n "{line}\\n"' for line in lines[:-1]) + f'\n "{lines[-1]}"'
    name = "bool_" if values.dtype == bool else values.dtype.name
    extents = ", ".join(map(str, shape))
    print(f'{{TypeId::{name}, "{values.tobytes().hex()}", {len(shape)}, {{{extents}}},'
          f' {{{fields}}},{literal}}},')


def bits(dtype, count):
    """Floating-point numbers of any bits."""
    unsigned = {2: np.uint16, 4: np.uint32, 8: np.uint64}[np.dtype(dtype).itemsize]
    return rng.integers(0, np.iinfo(unsigned).max, count, dtype=unsigned, endpoint=True).view(dtype)


def main():
    np.seterr(all="ignore")
    print("// SPDX-License-Identifier: BSD-3-Clause")
    print("// Written by print_cases.py.")
    for dtype in TYPES:
        for shape in SHAPES:
            emit(sample(dtype, max(1, int(np.prod(shape)))), shape)
        for shape in LARGE:
            emit(sample(dtype, 13), shape)
    for values in SPECIAL:
        for dtype in FLOATS:
            array = np.array(values, dtype)
            emit(array, array.shape)
            if array.size == 1:
                emit(array, ())
        pairs = np.array([complex(x, -y) for x, y in zip(values, values[::-1])])
        emit(pairs, pairs.shape)
        emit(pairs[:1], ())
        emit(np.array([complex(0, values[-1])], "c8"), ())
    for options in OPTIONS:
        for dtype in ["int32", "float16", "float32", "float64", "complex64", "complex128", "bool_"]:
            emit(sample(dtype, 12), (12,), **options)
            emit(sample(dtype, 12), (3, 4), **options)
    for dtype in FLOATS:
        for count in [1, 1, 1, 1, 2, 2, 5, 9]:
            emit(bits(dtype, count), (count,))
            emit(bits(dtype, 1), ())
    emit(np.arange(300, dtype="f4") * np.float32(1.1), (300,), linewidth=120)
    emit(np.arange(12, dtype="i8"), (2, 2, 3), linewidth=5)


if __name__ == "__main__":
    sys.exit(main())
