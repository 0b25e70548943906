# SPDX-License-Identifier: BSD-3-Clause
"""Draws programs: steps whose operands are registers that fit, or new inputs."""
import numpy as np

import shape_steps
from drawer import Drawer, str_of
from machine import DTYPES, packed_program
from operations import MISSING, Unsuitable, entries_of

EVERY = list(DTYPES)
# as in the tables of replay's files
COMPUTED = ["int32", "uint8", "float32", "float64"]
MOVED = ["int32", "float64", "complex64", "particle", "pixel", "float16"]
MASKED = ["int32", "uint8", "float32", "float64", "particle", "float16"]
PICKED = ["int32", "float64", "pixel", "float16"]
REDUCED = ["bool", "int8", "int32", "uint8", "float32", "float64"]
PAIRS = [("int8", "uint8"), ("int32", "float32"), ("bool", "int32"), ("int64", "float32"),
         ("float32", "float64"), ("float32", "complex64")]
SAME = [("bool", "bool"), ("int8", "int8"), ("int32", "int32"), ("int64", "int64"),
        ("uint8", "uint8"), ("float32", "float32"), ("float64", "float64"),
        ("complex64", "complex64")]
STEPS, LARGEST_NUMBER = 6, 60


def code_of_range(d, n):
    bounds = [MISSING if d.chance(0.3) else d.between(-n - 2, n + 2) for _ in range(2)]
    return [1, *bounds, d.one_of([1, 1, 2, 3, -1, -2])]


def draw_entries(d, shape, array_share=0.0, together=()):
    """The codes of an index, and the registers of its arrays."""
    codes, arrays = [], []
    most = 3 if array_share else 5  # as picks.cpp has them
    for n in shape[: d.between(1 if array_share else 0, min(len(shape), most))]:
        if array_share and len(arrays) < 2 and d.chance(array_share):
            codes.append([4, 0, 0, 1])
            own = [1 if d.chance(0.2) else e for e in together[d.between(0, len(together)):]]
            arrays.append(d.positions(n, own))
        elif n > 0 and d.chance(0.25):
            codes.append([0, d.between(-n, n - 1), 0, 1])
        else:
            codes.append(code_of_range(d, min(n, 20)))
    for code, share in (([2, 0, 0, 1], 0.2), ([3, 0, 0, 1], 0.3)):
        if len(codes) < most and d.chance(share):
            codes.insert(d.between(0, len(codes)), code)
    return [v for code in codes for v in code], arrays


def index(d):
    k = d.a(EVERY)
    return "index", [k], [draw_entries(d, d[k].shape)[0]]


def view(d):
    k = d.a(EVERY)
    rank, name = d[k].ndim, d.one_of(["transpose", "swapaxes", "flip", "ravel", "copy", "reshape"])
    if name == "reshape":
        shape = [d.between(1, 4) for _ in range(d.between(0, 3))]
        if d.chance(0.9):
            shape = list(d[k].shape)
            if shape and d.chance(0.7):
                at = d.between(0, len(shape) - 1)
                shape[at : at + 2] = [int(np.prod(shape[at : at + 2]))]
            if d.chance(0.5):
                shape.insert(d.between(0, len(shape)), 1)
        if shape and d.chance(0.2):
            shape[d.between(0, len(shape) - 1)] = -1
        return "view/reshape", [k], [shape, [d.between(0, 1)]]
    arguments = {"transpose": lambda: d.random.permutation(rank),
                 "swapaxes": lambda: [d.axis(rank), d.axis(rank)],
                 "flip": lambda: [d.axis(rank) for _ in range(d.between(0, 2))],
                 "ravel": lambda: [d.between(0, 1)], "copy": lambda: [0]}[name]()
    return f"view/{name}", [k], [arguments]


def field(d):
    k = d.a(["particle", "pixel"], most=3)
    return f"field/{d.one_of(d[k].dtype.names)}", [k], []


def astype(d):
    k = d.a(COMPUTED + ["int8", "bool", "int64"], fits=lambda a: np.isfinite(a).all())
    to = d.one_of(["int32", "float32", "float64", "bool", "int8"])
    if to == "int8" and d[k].dtype.kind == "f":
        return None  # out of range NumPy's result is undefined
    return f"astype/{to}", [k], []


def unary(d):
    name = d.one_of(["negative", "abs", "square", "sign", "floor", "sqrt", "exp", "sin", "isnan",
                     "logical_not"])
    names = {"sqrt": COMPUTED[2:], "exp": COMPUTED[2:], "sin": COMPUTED[2:]}.get(name, COMPUTED)
    return f"unary/{name}", [d.a(names)], []


def binary(d):
    pair = d.one_of(PAIRS if d.chance(0.25) else SAME)
    name = d.one_of(["add", "multiply", "less"])
    if pair[0] == pair[1] and pair[0] in COMPUTED and d.chance(0.6):
        name = d.one_of(["subtract", "divide", "maximum", "minimum", "floor_divide", "remainder",
                         "equal"])
    first = d.a([pair[0]])
    second = d.of_shape(pair[1], d[first].shape)
    swapped = pair[0] == pair[1] and d.chance(0.5)
    return f"binary/{name}", [second, first] if swapped else [first, second], []


def tree(d):
    name = d.one_of(COMPUTED)
    first = d.a([name])
    others = [d.of_shape(name, d[first].shape) for _ in range(2)]
    return f"tree/{d.one_of(list(TREE_NAMES))}", [first, *others], []


TREE_NAMES = ("axpy", "larger", "distance", "ratio", "clip")


def reduce(d):
    name = d.one_of(["sum", "sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax",
                     "var", "std", "count_nonzero", "total"])
    small = name == "prod"

    def fits(a):
        return not small or (a.dtype.kind not in "fc" or
                             (np.isfinite(a).all() and a.size <= 12))
    if name in ("mean", "var", "std", "total"):
        k = d.a(["int32", "float32", "float64"], fits=lambda a: np.isfinite(a).all())
    else:
        k = d.a(REDUCED, fits=fits)
    rank = d[k].ndim
    axes = [0] if d.chance(0.3) or rank == 0 else \
        [1, *sorted({d.axis(rank) for _ in range(d.between(1, 2))})]
    if name.startswith("arg") and len(axes) > 2:
        axes = axes[:2]
    operands = [k]
    if name == "total":
        operands.append(d.new(str_of(d[k].dtype), d[k].shape))
    return f"reduce/{name}", operands, [axes, [d.between(0, 1)]]


def assign(d):
    name = d.one_of(["fill", "array", "array", "axpy", "larger", "add", "subtract", "multiply"])
    k = d.a(EVERY[:10] + MOVED if name in ("array",) else COMPUTED)
    dtype = str_of(d[k].dtype)
    if name == "fill":
        return "assign/fill", [k], [[d.between(0, 9)]]
    count = 2 if name in ("axpy", "larger") else 1
    return f"assign/{name}", [k, *(d.of_shape(dtype, d[k].shape, k) for _ in range(count))], []


def mask(d):
    name = d.one_of(["read", "above", "product", "fill", "write", "add", "copyto", "place",
                     "putmask"])
    k = d.a(COMPUTED if name in ("above", "product", "fill", "add") else MASKED, least=1)
    a, dtype = d[k], str_of(d[k].dtype)
    if name == "above":
        return "mask/above", [k], [[d.between(0, 5)]]
    whole = name in ("copyto", "place", "putmask", "product") or d.chance(0.6)
    shape = a.shape if whole else a.shape[: d.between(1, a.ndim)]
    found = [r for r, m in d.machine.registers.items() if m.dtype == bool and m.shape == shape]
    m = d.one_of(found) if found and d.chance(0.7) else \
        d.new("bool", [n + d.chance(0.01) for n in shape])
    if name == "read":
        return "mask/read", [k, m], []
    if name == "fill":
        return "mask/fill", [k, m], [[d.between(0, 9)]]
    if name == "product":
        return "mask/product", [k, m, d.new(dtype, a.shape)], []
    if name == "copyto":
        return "mask/copyto", [k, d.new("bool", d.broadcast(list(shape))),
                               d.of_shape(dtype, a.shape, k)], []
    if name in ("place", "putmask"):
        return f"mask/{name}", [k, m, d.of_shape(dtype, [d.between(1, 5)], k)], []
    rows = [int(d[m].sum())] + list(a.shape[len(shape):])
    return f"mask/{name}", [k, m, d.of_shape(dtype, d.broadcast(rows), k)], []


def where(d):
    name = d.one_of(["nonzero", "flatnonzero", "argwhere", "compress", "extract"])
    k = d.a(["bool", "int32", "float64"], least=1)
    if name == "compress":
        axis = d.axis(d[k].ndim)
        n = d[k].shape[axis] if -d[k].ndim <= axis < d[k].ndim else 2
        return "where/compress", [d.new("bool", [max(n - d.between(0, 2), 0)]), k], [[axis]]
    if name == "extract":
        return "where/extract", [d.new("bool", d[k].shape), k], []
    return f"where/{name}", [k], []


def with_values(d, name, k, codes, arrays):
    """The operands and arguments of an index that is read or written."""
    operands, arguments = [k, *arrays], [codes]
    if name == "fill":
        arguments.append([d.between(0, 9)])
    elif name in ("write", "update", "add_at"):
        try:
            shape = d[k][entries_of(codes, [d[r] for r in arrays])].shape
        except IndexError:
            shape = [1]
        operands.append(d.of_shape(str_of(d[k].dtype), shape, k))
    return operands, arguments


def pick(d):
    name = d.one_of(["read", "read", "twice", "fill", "write", "write", "update", "add_at"])
    k = d.a(["int32", "float64"] if name in ("twice", "fill", "update", "add_at") else PICKED,
            least=1)
    together = [d.between(0 if d.chance(0.1) else 1, 3) for _ in range(d.between(0, 2))]
    codes, arrays = draw_entries(d, d[k].shape, 0.6, together)
    if not arrays:
        return None
    return f"pick/{name}", *with_values(d, name, k, codes, arrays)


def draw_list(d, shape):
    """The same of a list of entries of any kind: masks, positions and truth values, too."""
    codes, arrays, axis, rows = [], [], 0, d.between(1, 3)
    while axis < len(shape) and not (codes and d.chance(0.2)):
        kind = d.one_of(["mask", "positions", "positions", "range", "integer"])
        if kind == "mask":
            axes = d.between(1, min(2, len(shape) - axis))
            arrays.append(d.new("bool", [n + d.chance(0.01) for n in shape[axis : axis + axes]]))
            rows = rows if d.chance(0.2) else int(d[arrays[-1]].sum())
            codes.append([4, 0, 0, 1])
            axis += axes
            continue
        n = shape[axis]
        axis += 1
        if kind == "positions":
            own = [*[d.between(1, 2) for _ in range(d.chance(0.3))], 1 if d.chance(0.2) else rows]
            arrays.append(d.positions(n, own[d.between(0, len(own)) :] if d.chance(0.2) else own))
            codes.append([4, 0, 0, 1])
        else:
            codes.append([0, d.between(-n, n - 1), 0, 1] if kind == "integer" and n else
                         code_of_range(d, min(n, 20)))
    for code, share in (([2, 0, 0, 1], 0.2), ([3, 0, 0, 1], 0.3), ([5, d.chance(0.8), 0, 1], 0.15)):
        if d.chance(share):
            codes.insert(d.between(0, len(codes)), code)
    return [v for code in codes for v in code], arrays


def listed(d):
    name = d.one_of(["read", "read", "fill", "write", "write", "update", "add_at"])
    k = d.a(PICKED if name in ("read", "write") else ["int32", "float64"], least=1)
    codes, arrays = draw_list(d, d[k].shape)
    # NumPy lets a mask of extent 0 select from an axis of any length; Quarry refuses that.
    is_moved = 3 in codes[::4] and any(d[a].dtype == bool and 0 in d[a].shape for a in arrays)
    if not arrays or is_moved:
        return None
    return f"listed/{name}", *with_values(d, name, k, codes, arrays)


def take(d):
    name = d.one_of(["raise", "wrap", "clip", "flat", "along", "put", "put_along"])
    k = d.a(["int32", "float64"], least=1)
    a = d[k]
    if name in ("flat", "put"):
        i = d.positions(a.size, d.shape(0, 2))
        return f"take/{name}", [k, i] + ([d.of_shape(str_of(a.dtype), [d.between(1, 4)], k)]
                                         if name == "put" else []), []
    axis = d.between(-a.ndim, a.ndim - 1)
    if name in ("along", "put_along"):
        shape = list(a.shape)
        shape[axis] = d.between(1, 3)
        i = d.positions(a.shape[axis], shape)
        values = [d.of_shape(str_of(a.dtype), d.broadcast(shape), k)] if name == "put_along" else []
        return f"take/{name}", [k, i, *values], [[axis]]
    if a.shape[axis] == 0 and name == "wrap":
        return None  # NumPy would not end
    return f"take/{name}", [k, d.positions(a.shape[axis], d.shape(0, 2), name != "raise")], [[axis]]


def choose(d):
    name = d.one_of(["raise", "wrap", "clip"])
    shape = d.shape(0, 3)
    i = d.new("int32", shape, 0 if name == "raise" else -3, 1 if name == "raise" else 4)
    return f"choose/{name}", [i, *(d.of_shape("float64", shape) for _ in range(2))], []


def join(d):
    name = d.one_of(["concatenate", "stack", "repeat", "roll"])
    k = d.a(MOVED, least=1, most=3)
    axis = d.axis(d[k].ndim)
    if name == "repeat":
        return "join/repeat", [k], [[d.between(0, 3)], [axis]]
    if name == "roll":
        return "join/roll", [k], [[d.between(-5, 5)], [axis]]
    return f"join/{name}", [k, d.new(str_of(d[k].dtype), d[k].shape)], [[axis]]


def text(d):
    return "print", [d.a(EVERY)], []


def save(d):
    return "save", [d.a(EVERY)], []


DRAWN = {f.__name__: f for f in (index, view, field, astype, unary, binary, tree, reduce, assign,
                                 mask, where, pick, listed, take, choose, join, text, save)}
DRAWN["shape"] = shape_steps.draw
WEIGHTED = [name for name, weight in {
    "index": 6, "view": 4, "field": 2, "astype": 1, "unary": 1, "binary": 3, "tree": 2,
    "reduce": 3, "assign": 7, "mask": 4, "where": 1, "pick": 4, "listed": 4, "take": 2,
    "choose": 1, "join": 2, "text": 1, "save": 1, "shape": 3}.items() for _ in range(weight)]


def draw_step(d):
    """Of a step that is drawn in vain nothing stays but inputs."""
    try:
        drawn = DRAWN[d.one_of(WEIGHTED)](d)
        if drawn is not None:
            d.record(*drawn)
    except Unsuitable:
        pass


def draw_program(seed):
    """The program, its bytes, and how many of its writes overlap what they read."""
    d = Drawer(np.random.default_rng(seed))
    for _ in range(2 * STEPS):
        if len(d.program["steps"]) < STEPS and len(d.program["inputs"]) < LARGEST_NUMBER:
            draw_step(d)
    return d.program, packed_program(d.program, d.inputs, d.steps), d.machine.overlapping
