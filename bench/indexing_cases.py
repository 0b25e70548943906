# SPDX-License-Identifier: BSD-3-Clause
"""The cases of `scripts/bench indexing`: masks, gathers, scatters and joins; how they are drawn,
and what they move at least."""

import dataclasses
import math
import random

from shape_cases import ITEMSIZE, draw_extents

GROUPS = ("masks", "gathers", "scatters", "joins")
PEERS = {"cpu": ("numpy",), "cuda": ("cupy", "torch", "jax")}
JOINS = ("concatenate", "stack", "tile", "roll", "pad", "flip")
SECTOR = 32  # bytes that a GPU's memory moves at once
CACHE = 1 << 25  # of arrays up to this size a sector is moved once, whatever the order
POSITION = 8  # bytes of an int64
WIDTHS = ("float16", "float32", "float64", "int8")


@dataclasses.dataclass(frozen=True)
class Case:
    """`shape` is that of the operand. `count`: of masks the percentage that is kept, of gathers and
    scatters the number of positions, of joins how many arrays, repetitions, positions or elements
    on each side. `axis`: of joins."""

    id: int
    kind: str
    operation: str
    dtype: str
    shape: tuple
    count: int
    axis: int = 0

    @property
    def group(self):
        if self.operation in ("read", "write"):
            return "masks"
        if self.operation in JOINS:
            return "joins"
        return "gathers" if self.operation == "gather" else "scatters"

    @property
    def itemsize(self):
        return ITEMSIZE[self.dtype]

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def row(self):
        """Elements that one position selects."""
        return math.prod(self.shape[1:])

    @property
    def bytes(self):
        """What has to be moved: masks, positions and all that is dense once; of what is selected
        the sectors, and those that are written in part twice, as they are read before."""
        whole, row = self.size * self.itemsize, self.row * self.itemsize
        if self.group == "joins":
            return whole * self.copies + math.prod(self.joined) * self.itemsize
        if self.group == "masks":
            share = self.count / 100
            touched, partly = sectors_of_mask(row, share)
            if self.operation == "write":
                return round(self.shape[0] + whole * (touched + partly))
            read = whole if self.row == 1 else whole * touched
            return round(self.shape[0] + read + whole * share)
        if self.operation == "add_at":
            return self.count * (POSITION + row) + 2 * whole
        touched, partly = sectors_of_row(row)
        times = touched + partly if self.operation == "scatter" else touched
        moved = round(self.count * SECTOR * times)
        if whole <= CACHE:
            moved = min(moved, whole * (2 if self.operation == "scatter" else 1))
        return self.count * (POSITION + row) + moved

    @property
    def copies(self):
        """Arrays that are read."""
        return self.count if self.operation in ("concatenate", "stack") else 1

    @property
    def joined(self):
        """The shape of the result of a join."""
        extents = list(self.shape)
        if self.operation in ("concatenate", "tile"):
            extents[self.axis] *= self.count
        if self.operation == "stack":
            extents.insert(self.axis, self.count)
        if self.operation == "pad":
            extents = [extent + 2 * self.count for extent in extents]
        return tuple(extents)

    def limit(self, rates):
        return self.bytes / rates["copy"]

    def __str__(self):
        text = f"{self.dtype}{list(self.shape)}"
        if self.group == "masks":
            return f"{text}, {self.count} % {'kept' if self.operation == 'read' else 'set'}"
        at = f", axis {self.axis}" if self.group == "joins" and self.operation != "pad" else ""
        return f"{self.operation} of {text}, {self.count}{at}"

    def line(self):
        """As bench/indexing.cpp reads it."""
        shape = ",".join(map(str, self.shape))
        fields = (self.id, self.operation, self.dtype, shape, self.count, self.axis)
        return " ".join(map(str, fields))


def sectors_of_row(size):
    """Of rows of `size` bytes that lie side by side, on average: the sectors that have something of
    one, and those of them that have something else, too."""
    starts = range(0, SECTOR, math.gcd(size, SECTOR))
    touched = sum((start + size - 1) // SECTOR + 1 for start in starts)
    whole = sum(max(0, (start + size) // SECTOR - (start > 0)) for start in starts)
    return touched / len(starts), (touched - whole) / len(starts)


def sectors_of_mask(size, share):
    """The same where this share of the rows is selected at random: as shares of all sectors."""
    firsts = range(0, math.lcm(size, SECTOR), SECTOR)
    rows = [(first + SECTOR - 1) // size - first // size + 1 for first in firsts]
    touched = sum(1 - (1 - share) ** count for count in rows) / len(rows)
    return touched, touched - sum(share**count for count in rows) / len(rows)


def from_fields(fields):
    """A case that was written as JSON."""
    return Case(**fields | {"shape": tuple(fields["shape"])})


def draw_mask(draw, dtype, log2):
    operation = draw.choice(("read", "write"))
    size, count = round(2 ** draw.uniform(log2 - 2, log2)), draw.choice((1, 10, 50, 90))
    row = draw.choice((1, 1, 1, round(2 ** draw.uniform(1, 8))))
    what = "x[mask]" if row == 1 else "x[mask of rows]"
    kind = what if operation == "read" else f"{what} = 1"
    shape = (size,) if row == 1 else (size // row, row)
    return Case(0, kind, operation, dtype, shape, count)


def draw_positions(draw, dtype, log2, operation):
    """Rows of 64 to 4096 bytes, or elements of 4; as many as make 2^(log2 - 2) to 2^log2."""
    if draw.random() < 0.5:
        dtype, row, what = "float32", 1, "4-byte elements"
        count = round(2 ** draw.uniform(log2 - 3, log2 - 1))
    else:
        size = ITEMSIZE[dtype]
        row, what = round(2 ** draw.uniform(6, 12) / size), "rows"
        count = round(2 ** draw.uniform(log2 - 2, log2)) // row
    table = round(count * 2 ** draw.uniform(0, 1))
    shape = (table,) if row == 1 else (table, row)
    return Case(0, f"{operation} of {what}", operation, dtype, shape, count)


def draw_gather(draw, dtype, log2):
    return draw_positions(draw, dtype, log2, "gather")


def draw_scatter(draw, dtype, log2):
    if draw.random() < 0.7:
        return draw_positions(draw, dtype, log2, "scatter")
    bins, count = round(2 ** draw.uniform(8, 20)), round(2 ** draw.uniform(log2 - 5, log2 - 3))
    return Case(0, "add_at", "add_at", draw.choice(("float32", "float64")), (bins,), count)


def draw_join(draw, dtype, log2):
    operation, rank = draw.choice(JOINS), draw.randint(1, 4)
    count = draw.randint(2, 4)
    smaller = 1 if operation in ("concatenate", "stack", "tile") else 0  # their result is larger
    shape = tuple(draw_extents(draw, rank, log2 - 2 - smaller, log2 - smaller))
    axis = draw.randrange(rank + (operation == "stack"))
    if operation == "roll":
        count = draw.randint(1, max(1, shape[axis] - 1))
    case = Case(0, operation, operation, dtype, shape, count, axis)
    if math.prod(case.joined) > 2**log2:  # short axes become several times as long by padding
        return draw_join(draw, dtype, log2)
    return case


def draw_cases(seed, count, log2_most, footprint):
    """`count` cases whose larger side has 2^(log2_most - 2) to 2^log2_most elements. `footprint` is
    of no use here: the caches are filled with something else before each."""
    del footprint
    draw = random.Random(seed)
    draws = (draw_mask, draw_gather, draw_scatter, draw_join)
    for number in range(count):
        case = draws[number % len(draws)](draw, draw.choice(WIDTHS), log2_most)
        yield dataclasses.replace(case, id=number)
