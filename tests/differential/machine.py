# SPDX-License-Identifier: BSD-3-Clause
"""A drawn program as data, what NumPy makes of it, and the bytes that replay.cpp reads.

A program is a list of inputs and a list of steps. An input is [dtype, base shape, steps, axes,
seed, low, high]: a view of a dense array, with these steps and this permutation of its axes, whose
elements follow from the seed (0: they are counted), integers between low and high. A step is
[name, operands, arguments, results]: numbers of registers, lists of integers, and numbers of new
registers. Register k is input k; those of results are from 100 on. Registers share memory where
NumPy's arrays do, so that later writes show whether Quarry's do, too.
"""
import struct
from collections import Counter

import numpy as np

import shape_steps  # noqa: F401, whose operations are added
from operations import OPERATIONS, Refused, Rounded, Unsuitable

RECORDS = {
    "particle": np.dtype([("mass", "f8"), ("pos", "f4", (3,)), ("id", "i4")]),
    "pixel": np.dtype([("r", "u1"), ("g", "u1"), ("b", "u1")]),
}
NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint64", "float32", "float64",
         "complex64", "particle", "pixel", "float16"]
DTYPES = {n: RECORDS.get(n) or np.dtype(n) for n in NAMES}
IDS = {dtype: i for i, dtype in enumerate(DTYPES.values())}
FIRST_RESULT = 100
# A result may share the memory of an operand, or be new memory: of steps that are ORDERED with
# NumPy's order of axes, of others with an order that is made C's in both, since it is not compared.
# What NumPy does not let write, or gives as a number, is copied.
SHARED, NEW, COPIED, ORDERED = range(4)
ORDERED_STEPS = {"unary", "binary", "astype", "reduce"}
LARGEST = 1e6  # results beyond are not drawn, so that sums of floating numbers stay exact


def hashed(seed, n):
    """64 bits for each element: splitmix64."""
    x = (np.arange(1, n + 1, dtype=np.uint64) + np.uint64(seed * 1000003)) \
        * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def integers(seed, n, low, high):
    if seed == 0:
        return low + np.arange(n) % (high - low + 1)
    return low + (hashed(seed, n) % np.uint64(high - low + 1)).astype(np.int64)


def floats(seed, n):
    """Quarters, of which sums are exact; for some seeds with NaN, infinities and -0."""
    values = integers(seed, n, -16, 16) / 4 if seed else np.arange(n) / 4
    if seed % 6 == 1:
        chosen = hashed(seed + 1, n) % np.uint64(5) == 0
        special = np.array([np.nan, np.inf, -np.inf, -0.0])
        values[chosen] = special[integers(seed + 2, int(chosen.sum()), 0, 3)]
    return values


def values_of(dtype, seed, n, low, high):
    if dtype.names:
        result = np.zeros(n, dtype)
        for place, name in enumerate(dtype.names):
            base, shape = dtype[name].subdtype or (dtype[name], ())
            count = n * int(np.prod(shape, dtype=int))
            part = values_of(base, (seed + place) * bool(seed), count, low, high)
            result[name] = part.reshape(n, *shape)
        return result
    if dtype.kind == "b":
        return hashed(seed, n) % np.uint64(2) == 0
    if dtype.kind == "f":
        return floats(seed, n).astype(dtype)
    if dtype.kind == "c":
        seed -= seed % 6  # no infinities: which part of a product is NaN is open
        result = np.empty(n, dtype)
        result.real, result.imag = floats(seed, n), floats(2 * seed + 6, n)
        return result
    return integers(seed, n, max(low, np.iinfo(dtype).min) if dtype.kind == "i" else max(low, 0),
                    high).astype(dtype)


def make_input(spec):
    name, shape, steps, axes, seed, low, high = spec
    dtype = DTYPES[name]
    base = values_of(dtype, seed, int(np.prod(shape, dtype=int)), low, high).reshape(shape)
    return base, base[(*(slice(None, None, s) for s in steps), ...)].transpose(axes)


class Outcome:
    """What a step gives: arrays as (array, ulps, either zero, bound, memory), or a text."""

    def __init__(self):
        self.refused, self.arrays, self.text, self.changed = False, [], b"", []
        self.summed = False  # what has changed, by sums that Quarry rounds once


def overlaps(written, read):
    """Whether they share elements, and not each its own."""
    same = (written.ctypes.data, written.shape, written.strides) == (
        read.ctypes.data, read.shape, read.strides)
    return not same and written.dtype == read.dtype and np.shares_memory(written, read)


class Machine:
    """The registers of a program."""

    def __init__(self):
        self.registers, self.bases = {}, []
        self.overlapping = Counter()  # writes from memory that they write, by the kind of index

    def add_input(self, spec):
        base, view = make_input(spec)
        self.registers[len(self.bases)] = view
        self.bases.append(base)
        return len(self.bases) - 1

    def execute(self, step):
        """Computes the step and stores its results. Throws Unsuitable before it does."""
        name, operands, arguments, results = step
        operands = [self.registers[k] for k in operands]
        outcome = Outcome()
        try:
            with np.errstate(all="ignore"):
                given = OPERATIONS[name.split("/")[0]](name.partition("/")[2], operands, arguments)
        except Refused:
            outcome.refused = True
            return outcome
        if given is None:
            self.overlapping[name.split("/")[0]] += any(
                map(overlaps, operands[:1] * len(operands), operands[1:]))
            outcome.changed = list(self.registers)
            outcome.summed = name.endswith("/add_at")
            return outcome
        if isinstance(given, bytes):
            outcome.text = given
            return outcome
        given = given if isinstance(given, list) else [given]
        is_ordered = name.split("/")[0] in ORDERED_STEPS and "/arg" not in name and \
            all(a.size for a in operands)  # NumPy's copies of others have strides of their own
        outcome.arrays = [self.stored(r, operands, is_ordered) for r in given]
        for register, (array, *_) in zip(results, outcome.arrays):
            self.registers[register] = array
        return outcome

    def stored(self, result, operands, is_ordered):
        rounded = result if isinstance(result, Rounded) else Rounded(result)
        array = np.asarray(rounded.array)
        if array.dtype not in IDS or array.size > 4000:
            raise Unsuitable
        if array.dtype.kind in "fc" and array.size:
            finite = np.abs(array[np.isfinite(array)])
            if finite.size and finite.max() > LARGEST:
                raise Unsuitable
        memory = SHARED
        repeats = any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape))
        if repeats or not array.flags.writeable or not isinstance(rounded.array, np.ndarray):
            memory = COPIED
        elif not any(np.may_share_memory(array, a) for a in operands):
            memory = ORDERED if is_ordered else NEW
        if memory in (NEW, COPIED):
            array = np.array(array, order="C")
        return (array, rounded.ulps, rounded.either_zero,
                rounded.bound, memory)


def pack_dims(dims):
    return struct.pack(f"<B{len(dims)}q", len(dims), *dims)


def pack_text(text):
    return struct.pack("<I", len(text)) + text


def pack_want(register, array, ulps=0, either_zero=False, bound=None, memory=SHARED):
    packed = struct.pack("<HB", register, IDS[array.dtype]) + pack_dims(array.shape)
    packed += struct.pack("<HBBB", ulps, either_zero, memory, bound is not None)
    if bound is not None:
        packed += np.broadcast_to(bound, array.shape).astype(float).tobytes()
    if memory == ORDERED:
        packed += pack_dims(array.strides)
    return packed + array.tobytes()


def pack_input(machine, spec):
    k = machine.add_input(spec)
    return struct.pack("<B", IDS[DTYPES[spec[0]]]) + pack_dims(spec[1]) + pack_dims(spec[2]) + \
        pack_dims(spec[3]) + machine.bases[k].tobytes()


def pack_step(machine, step, outcome):
    """After it was executed."""
    name, operands, arguments, results = step
    wants = [pack_want(r, *w) for r, w in zip(results, outcome.arrays)]
    ulps = 8 if outcome.summed else 0
    wants += [pack_want(r, machine.registers[r], ulps, outcome.summed) for r in outcome.changed]
    return b"".join([struct.pack("<B", len(name)), name.encode(), pack_dims(operands),
                     struct.pack("<B", len(arguments)), *map(pack_dims, arguments),
                     struct.pack("<BBB", outcome.refused, len(outcome.arrays), len(wants)),
                     *wants, pack_text(outcome.text)])


def packed_program(program, inputs, steps):
    return pack_text(pack_text(listing(program).encode()) + struct.pack("<B", len(inputs)) +
                     b"".join(inputs) + struct.pack("<B", len(steps)) + b"".join(steps))


def pack(program):
    """The bytes of a program with NumPy's results. Throws what NumPy throws for one that is
    none."""
    machine = Machine()
    inputs = [pack_input(machine, spec) for spec in program["inputs"]]
    steps = [pack_step(machine, step, machine.execute(step)) for step in program["steps"]]
    return packed_program(program, inputs, steps)


def listing(program):
    """The program for a reader."""
    used = {k for step in program["steps"] for k in step[1]}
    lines = []
    for k, (name, shape, steps, axes, seed, low, high) in enumerate(program["inputs"]):
        if k not in used:
            continue
        lines.append(f"r{k} = {name} {tuple(shape)}, steps {steps}, axes {axes}, seed {seed}, "
                     f"{low}..{high}")
    for name, operands, arguments, results in program["steps"]:
        call = f"{name}({', '.join([f'r{k}' for k in operands] + [str(a) for a in arguments])})"
        lines.append(", ".join(f"r{k}" for k in results) + " = " * bool(results) + call)
    return "\n".join(lines)
