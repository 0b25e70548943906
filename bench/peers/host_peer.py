# SPDX-License-Identifier: BSD-3-Clause
"""The rows of bench/host.py in NumPy, on one thread; answers as bench/host_rows.hpp does."""

import sys
import time

import numpy as np

MAPS = {
    "add": lambda o, x, y, z: np.add(x, y, out=o),
    "mul_add": lambda o, x, y, z: np.add(np.multiply(x, y, out=o), z, out=o),
    "add_number": lambda o, x, y, z: np.add(x, 1, out=o),
    "less": lambda o, x, y, z: np.less(x, y, out=o),
    "where": lambda o, x, y, z: np.where(x < y, y, z),
    "add_row": lambda o, x, y, z: np.add(x, y[:1], out=o),
    "add_column": lambda o, x, y, z: np.add(x, y[:, :1], out=o),
    "transpose": lambda o, x, y, z: np.copyto(o, x.T),
    "divide": lambda o, x, y, z: np.divide(x, y, out=o),
    "floor_divide": lambda o, x, y, z: np.floor_divide(x, y, out=o),
    "floor_divide_number": lambda o, x, y, z: np.floor_divide(x, 7, out=o),
}
REDUCTIONS = ("sum", "max", "argmax", "any", "mean", "var")


def values(k, dtype, extents):
    """As value_at of bench/host_rows.hpp."""
    count = int(np.prod(extents))
    u = (np.arange(count, dtype=np.int64) * 7919 + k * 104729) % 1000003
    if dtype == "bool":
        x = np.zeros(count)
    elif dtype.startswith("float"):
        x = 8.0 * (u + 1) / 1000003.0
    else:
        x = u % 101 - 50 if dtype == "int8" else u % 2001 - 1000
    return x.astype(dtype).reshape(extents)


def heat(o, x, *_):
    np.add(x[2:, 1:-1], x[:-2, 1:-1], out=o)
    np.add(o, x[1:-1, 2:], out=o)
    np.add(o, x[1:-1, :-2], out=o)
    return np.multiply(o, o.dtype.type(0.25), out=o)


def result_of(operation, dtype, extents):
    if operation == "less":
        return np.empty(extents, bool)
    if operation.startswith("to_"):
        return np.empty(extents, operation[3:])
    if operation == "transpose":
        return np.empty(extents[::-1], dtype)
    if operation == "heat":
        return np.empty([n - 2 for n in extents], dtype)
    return np.empty(extents, dtype)


def work_of(operation, dtype, extents):
    x, y, z = (values(k, dtype, extents) for k in range(3))
    name, _, axis = operation.partition(".")
    if name in REDUCTIONS:
        return lambda: getattr(x, name)(axis=int(axis) if axis else None)
    out = result_of(operation, dtype, extents)
    function = MAPS.get(operation)
    if operation == "heat":
        function = heat
    elif operation.startswith("to_"):
        function = lambda o, x, y, z: np.copyto(o, x, casting="unsafe")
    elif not function:
        function = lambda o, x, y, z: getattr(np, operation)(x, out=o)

    def work():
        result = function(out, x, y, z)
        return out if result is None else result

    return work


def figure(result):
    flat = np.asarray(result).ravel().astype(float)
    return float(np.sum(flat * (1 + np.arange(flat.size) % 7)))


def fastest(work):
    """As in bench/host_rows.hpp."""
    work()
    start = time.perf_counter()
    work()
    batch = 1 + int(1e-4 / max(time.perf_counter() - start, 1e-8))
    best, begin, samples = float("inf"), time.perf_counter(), 0
    while samples < 3 or time.perf_counter() - begin < 0.02:
        start = time.perf_counter()
        for _ in range(batch):
            work()
        best = min(best, (time.perf_counter() - start) / batch)
        samples += 1
    return best


def main():
    np.seterr(all="ignore")
    last = work = None
    for line in sys.stdin:
        if line != last:
            _, operation, dtype, *extents = line.split()
            work = work_of(operation, dtype, [int(n) for n in extents])
            last = line
        print(f"{fastest(work):.9g} {figure(work()):.9g}", flush=True)


if __name__ == "__main__":
    main()
