# SPDX-License-Identifier: BSD-3-Clause
"""The cases of `scripts/bench shapes`: how they are drawn, and what they move at least."""

import dataclasses
import math
import random

PEERS = {"cpu": ("numpy",), "cuda": ("cupy", "torch")}
ITEMSIZE = {"float16": 2, "float32": 4, "float64": 8, "int8": 1}
LAYOUTS = ("whole", "transposed", "every second")
REDUCTIONS = ("sum", "argmax", "var")
MAPS = ("a + b.T", "a + row", "a + column", "x[..., ::2] * 2")
GROUPS = ("reductions", "copies", "maps")
TURNS = ("reductions", "copies", "reductions", "maps")  # the groups of consecutive cases
SHORT = 8  # an axis with fewer elements is short
ALIGNMENT = 256  # elements from one operand to the next are a multiple of it


@dataclasses.dataclass(frozen=True)
class Case:
    """The operand is a view: of dense memory in C order with the extents `memory` every `step`-th
    element along the last axis, then transposed, so that axis d of the view is axis order[d] of
    the memory. A sum of two arrays has another, dense operand with the extents `second`. The work
    is done on as many `inputs` as overflow a cache, one after another."""

    id: int
    kind: str
    operation: str
    dtype: str
    memory: tuple
    step: int = 1
    order: tuple = ()
    axes: tuple = ()
    second: tuple = ()
    inputs: int = 1

    @property
    def view(self):
        extents = (*self.memory[:-1], self.memory[-1] // self.step)
        return tuple(extents[axis] for axis in self.order)

    @property
    def group(self):
        if self.operation in REDUCTIONS:
            return "reductions"
        return "copies" if self.operation == "copy" else "maps"

    @property
    def second_at(self):
        """Where the second operand is, in elements from the first."""
        return aligned(math.prod(self.memory))

    @property
    def span(self):
        """From one input to the next, in elements."""
        return self.second_at + (aligned(math.prod(self.second)) if self.second else 0)

    @property
    def bytes(self):
        """Of every input and output, once. Of every second element along the last axis the memory
        between them moves too: it is in the same sectors."""
        read = math.prod(self.memory) + (math.prod(self.second) if self.second else 0)
        return read * ITEMSIZE[self.dtype] + math.prod(self.result) * self.result_itemsize

    @property
    def result(self):
        return tuple(n for axis, n in enumerate(self.view) if axis not in self.axes)

    @property
    def result_itemsize(self):
        if self.operation == "argmax" or (self.group == "reductions" and self.dtype == "int8"):
            return 8
        return ITEMSIZE[self.dtype]

    def limit(self, rates):
        """Seconds for the bytes at the machine's rate: of a copy, or of reading and adding."""
        return self.bytes / rates["copy" if self.operation == "copy" else "add"]

    def __str__(self):
        """As NumPy writes it."""
        text = f"{self.dtype}{list(self.memory)}"
        if self.step > 1:
            text += f"[..., ::{self.step}]"
        if self.order != tuple(range(len(self.order))):
            text += f".transpose{self.order}"
        if self.group == "reductions":
            axes = self.axes if len(self.axes) < len(self.view) else ""
            return f"{text}.{self.operation}({axes})"
        if self.operation == "copy":
            return f"{text}.copy()"
        return f"{text} * 2" if self.operation == "twice" else f"{list(self.second)} + {text}"

    def line(self):
        """As bench/shapes.cpp reads it."""
        lists = (self.memory, self.order, self.axes, self.second)
        memory, order, axes, second = (",".join(map(str, entries)) or "-" for entries in lists)
        fields = (self.id, self.operation, self.dtype, memory, self.step, order, axes, second)
        return " ".join(map(str, (*fields, self.inputs, self.span, self.second_at)))


def aligned(elements):
    return -(-elements // ALIGNMENT) * ALIGNMENT


def from_fields(fields):
    """A case that was written as JSON."""
    tuples = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Case(**fields | tuples)


def draw_extents(draw, rank, least, most):
    """Log-uniform: the logarithm of the size, from `least` to `most`, is cut at drawn places."""
    while True:
        size = draw.uniform(least, most)
        cuts = [0.0, *sorted(draw.uniform(0, size) for _ in range(rank - 1)), size]
        extents = [max(1, round(2 ** (b - a))) for a, b in zip(cuts, cuts[1:])]
        if 2**least <= math.prod(extents) <= 2**most:
            return extents


def draw_order(draw, rank):
    """Any order of the axes but the one in memory; reversed at least every other time."""
    if draw.random() < 0.5:
        return tuple(reversed(range(rank)))
    while True:
        order = tuple(draw.sample(range(rank), rank))
        if order != tuple(range(rank)):
            return order


def draw_reduction(draw, least, most):
    operation = draw.choice(("sum", "sum", "argmax", "var"))
    rank, layout = draw.randint(1, 4), draw.choice(LAYOUTS)
    count = draw.randint(1, min(3, rank))
    if operation == "argmax" and count > 1:
        count = draw.choice((1, rank))  # one axis or all, as NumPy has it
    memory = draw_extents(draw, rank, least, most)
    transposed = layout == "transposed" and rank > 1
    return {
        "kind": operation,
        "operation": operation,
        "step": 2 if layout == "every second" else 1,
        "memory": memory,
        "order": draw_order(draw, rank) if transposed else tuple(range(rank)),
        "axes": tuple(sorted(draw.sample(range(rank), count))),
    }


def draw_copy(draw, least, most):
    rank = draw.randint(2, 5)
    memory, order = draw_extents(draw, rank, least, most), draw_order(draw, rank)
    return {"kind": "", "operation": "copy", "memory": memory, "order": order}


def draw_map(draw, least, most):
    kind = draw.choice(MAPS)
    if kind == "x[..., ::2] * 2":
        rank = draw.randint(1, 4)
        fields = {"operation": "twice", "step": 2, "order": tuple(range(rank))}
        return fields | {"kind": kind, "memory": draw_extents(draw, rank, least, most)}
    rank = draw.randint(2, 4)
    memory = draw_extents(draw, rank, least, most)
    order = tuple(reversed(range(rank))) if kind == "a + b.T" else tuple(range(rank))
    shapes = {
        "a + b.T": tuple(reversed(memory)),
        "a + row": tuple(memory[-1:]),
        "a + column": (*memory[:-1], 1),
    }
    fields = {"kind": kind, "operation": "add", "second": shapes[kind]}
    return fields | {"memory": memory, "order": order}


def kind_of_copy(case):
    if min(case.memory[-1], case.view[-1]) < SHORT:
        return f"copies, innermost axis below {SHORT}"
    return "copies, 4 and 8 bytes" if ITEMSIZE[case.dtype] >= 4 else "copies, 1 and 2 bytes"


def draw_cases(seed, count, log2_most, footprint):
    """`count` cases of 2^(log2_most - 2) to 2^log2_most elements. `footprint`: how many bytes
    overflow the caches."""
    draw = random.Random(seed)
    groups = {"reductions": draw_reduction, "copies": draw_copy, "maps": draw_map}
    cases = []
    for number in range(count):
        fields = groups[TURNS[number % len(TURNS)]](draw, log2_most - 2, log2_most)
        fields["memory"] = (*fields["memory"][:-1], fields["memory"][-1] * fields.get("step", 1))
        case = Case(id=number, dtype=draw.choice(tuple(ITEMSIZE)), **fields)
        kind = case.kind or kind_of_copy(case)
        inputs = footprint // (case.span * ITEMSIZE[case.dtype])
        cases.append(dataclasses.replace(case, kind=kind, inputs=min(max(inputs, 1), 16)))
    return cases
