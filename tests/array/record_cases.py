# SPDX-License-Identifier: BSD-3-Clause
"""Writes record_cases.inc for record_conformance_test.cpp: what NumPy prints for structured arrays,
and the files that it saves.

Usage: record_cases.py > record_cases.inc      (NumPy 2.4)
"""

import io

import numpy as np

rng = np.random.default_rng(2026)
INNER = np.dtype([("a", "i2"), ("b", "u1", (3,))], align=True)
TYPES = {
    "Particle": np.dtype([("mass", "f8"), ("pos", "f4", (3,)), ("id", "i4")], align=True),
    "Mixed": np.dtype([("x", "i1"), ("in", INNER, (2,)), ("z", "c8"), ("h", "f2"), ("ok", "?"),
                       ("n", INNER)], align=True),
    "Packed": np.dtype([("c", "i1"), ("d", "f8"), ("s", "i2", (2, 2))]),
    "One": np.dtype([("x", "u4")]),
    "Long": np.dtype([("v", "f4", (7, 3))], align=True),
}
OPTIONS = [{}, dict(precision=3), dict(threshold=5, edgeitems=1), dict(linewidth=40),
           dict(threshold=20, edgeitems=2)]
DEFAULTS = dict(precision=8, threshold=1000, edgeitems=3, linewidth=75, suppress=False)


def draw(dtype, shape):
    """Records with drawn numbers, and zeros between them."""
    array = np.zeros(shape, dtype)
    for name in dtype.names:
        field = array[name]
        if field.dtype.names:
            field[...] = draw(field.dtype, field.shape)
        elif field.dtype == bool:
            field[...] = rng.integers(0, 2, field.shape)
        elif field.dtype.kind in "iu":
            field[...] = rng.integers(0, 100, field.shape)
        else:
            values = rng.normal(size=field.shape) * 10.0 ** rng.integers(-2, 3)
            field[...] = np.round(values, rng.integers(1, 7))
            if field.dtype.kind == "c":
                field[...] += 1j * rng.integers(-9, 9, field.shape)
    return array


def packed(dtype, order):
    """The same fields without padding, the other way round, in a byte order."""
    fields = []
    for name in reversed(dtype.names):
        base, shape = dtype[name].subdtype or (dtype[name], ())
        element = packed(base, order) if base.names else base.newbyteorder(order)
        fields.append((name, element, shape))
    return np.dtype(fields)


def assign(to, array):
    """By name: NumPy assigns structured arrays by position."""
    for name in array.dtype.names:
        if array[name].dtype.names:
            assign(to[name], array[name])
        else:
            to[name] = array[name]
    return to


def saved(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue().hex()


def main():
    print("// SPDX-License-Identifier: BSD-3-Clause")
    print("// Written by record_cases.py.")
    for name, dtype in TYPES.items():
        for shape in [(), (1,), (4,), (2, 3), (0, 2), (11,)]:
            array = draw(dtype, shape)
            other = assign(np.zeros(shape, packed(dtype, ">")), array)
            extents = ", ".join(map(str, shape))
            print(f'{{"{name}", "{array.tobytes().hex()}", {{{extents}}}, R"({dtype.descr})",')
            print(f' "{saved(array)}",\n "{saved(other)}",\n {{')
            for options in OPTIONS:
                with np.printoptions(**options):
                    text = str(array)
                fields = ", ".join(str(options.get(k, d)).lower() for k, d in DEFAULTS.items())
                print(f'  {{{{{fields}}}, R"({text})"}},')
            print(" }},")


if __name__ == "__main__":
    main()
