# SPDX-License-Identifier: BSD-3-Clause
"""Times drawn cases in another library, and prints what bench/shapes.cpp prints.
Usage: shapes_peer.py numpy|cupy|torch CASES.json"""

import json
import math
import pathlib
import sys
import time
import warnings

import peer as p

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from shape_cases import from_fields  # noqa: E402

SLOW = 50  # what takes so many times the limit is timed once


def some_values(dtype):
    """Multiples of 1/64 below 8, or any int8, as in bench/shapes.cpp."""
    import numpy

    numbers = numpy.random.default_rng(1).integers(-512, 512, 1 << 22)
    return (numbers // 4 if dtype == "int8" else numbers / 64).astype(dtype)


def occupy_device(block):
    """As in bench/shapes.cpp: hides the time that Python takes to queue the work."""
    for _ in range(4):
        block.sum()


class NumpyLike:
    """NumPy, and CuPy, which has the same functions."""

    def __init__(self, module):
        self.module = module

    def inputs(self, dtype, elements):
        piece = self.module.asarray(some_values(dtype))
        return self.module.tile(piece, -(-elements // piece.size))[:elements]

    def transposed(self, x, order):
        return x.transpose(order)

    def reduction(self, operation, axes):
        """`axes` is None for all."""
        if operation == "argmax":
            axis = None if axes is None else axes[0]
            return lambda x: x.argmax(axis=axis)
        return lambda x: getattr(x, operation)(axis=axes)

    def empty_like_dense(self, shape, x):
        return self.module.empty(shape, x.dtype)

    def copy(self, x, out):
        self.module.copyto(out, x)

    def add(self, x, y, out):
        self.module.add(x, y, out=out)

    def twice(self, x, out):
        self.module.multiply(x, 2, out=out)

    def forget(self):
        """Returns what the last case has used."""


class Numpy(NumpyLike):
    def __init__(self):
        import numpy

        super().__init__(numpy)

    def timer(self, work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start


class Cupy(NumpyLike):
    def __init__(self):
        import cupy

        try:
            cupy.zeros(1)
        except Exception as reason:
            raise p.NotHere(reason) from None
        super().__init__(cupy)
        self.block = cupy.zeros(1 << 27, cupy.float32)

    def timer(self, work):
        begin, end = self.module.cuda.Event(), self.module.cuda.Event()
        occupy_device(self.block)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return 1e-3 * self.module.cuda.get_elapsed_time(begin, end)

    def forget(self):
        self.module.get_default_memory_pool().free_all_blocks()


class Torch:
    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise p.NotHere("no GPU for it")
        self.torch = torch
        self.block = torch.zeros(1 << 27, device="cuda")

    def inputs(self, dtype, elements):
        piece = self.torch.from_numpy(some_values(dtype)).cuda()
        return piece.repeat(-(-elements // piece.numel()))[:elements]

    def transposed(self, x, order):
        return x.permute(order)

    def reduction(self, operation, axes):
        if operation == "argmax":
            return lambda x: x.argmax() if axes is None else x.argmax(dim=axes[0])
        if operation == "var":
            return lambda x: self.torch.var(x, dim=axes, correction=0)
        return lambda x: x.sum() if axes is None else x.sum(dim=axes)

    def empty_like_dense(self, shape, x):
        return self.torch.empty(shape, dtype=x.dtype, device=x.device)

    def copy(self, x, out):
        out.copy_(x)

    def add(self, x, y, out):
        self.torch.add(x, y, out=out)

    def twice(self, x, out):
        self.torch.mul(x, 2, out=out)

    def timer(self, work):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        occupy_device(self.block)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return 1e-3 * begin.elapsed_time(end)

    def forget(self):
        self.torch.cuda.empty_cache()


def parts(case, memory, at, extents):
    """The dense arrays of the inputs, `at` elements after their beginnings."""
    for number in range(case.inputs):
        first = number * case.span + at
        yield memory[first : first + math.prod(extents)].reshape(extents)


def prepared(library, case, memory):
    """work(r) for input r."""
    whole = parts(case, memory, 0, case.memory)
    views = [library.transposed(x[..., :: case.step], case.order) for x in whole]
    if case.group == "reductions":
        axes = None if len(case.axes) == len(case.view) else case.axes
        reduction = library.reduction(case.operation, axes)
        return lambda r: reduction(views[r])
    out = library.empty_like_dense(case.view, memory)
    if case.operation == "copy":
        return lambda r: library.copy(views[r], out)
    if case.operation == "twice":
        return lambda r: library.twice(views[r], out)
    others = list(parts(case, memory, case.second_at, case.second))
    return lambda r: library.add(others[r], views[r], out)


def seconds(library, case, limit, memory):
    work = prepared(library, case, memory)
    work(0)  # compiles its kernels
    once = library.timer(lambda: work(0))
    if once > SLOW * limit:
        return once

    def all_inputs():
        for number in range(case.inputs):
            work(number)

    return p.sample(lambda: library.timer(all_inputs), warm_up=1) / case.inputs


def run(library, rows):
    """`rows`: cases and their limits. One element type after another, so that no more than one has
    its inputs in memory."""
    for dtype in sorted({case.dtype for case, _ in rows}):
        chosen = [(case, limit) for case, limit in rows if case.dtype == dtype]
        memory = library.inputs(dtype, max(case.inputs * case.span for case, _ in chosen))
        for case, limit in chosen:
            try:
                outcome = f"ok {seconds(library, case, limit, memory):.9g}"
            except Exception as error:  # whatever a library may throw
                outcome = "error " + " ".join(f"{type(error).__name__}: {error}".split())[:200]
            print(case.id, outcome, flush=True)
            library.forget()
        del memory


def main(name, path):
    warnings.simplefilter("ignore")  # of float16 that overflows
    try:
        library = {"numpy": Numpy, "cupy": Cupy, "torch": Torch}[name]()
    except (ImportError, p.NotHere) as reason:
        print(f"left out ({reason})", file=sys.stderr)
        return
    rows = json.loads(pathlib.Path(path).read_text())
    run(library, [(from_fields(row["case"]), row["limit"]) for row in rows])


if __name__ == "__main__":
    main(*sys.argv[1:3])
