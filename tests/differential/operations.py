# SPDX-License-Identifier: BSD-3-Clause
"""What the steps of a program do in NumPy. A function of OPERATIONS takes the part of the step's
name behind the slash, the operands and the arguments. It returns arrays, a text, or None if it has
written into its first operand; Refused stands for an error."""
import io

import numpy as np

MISSING = 99  # a bound of a range that is not given
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23}


class Refused(Exception):
    """NumPy refuses these operands."""


class Unsuitable(Exception):
    """A step whose result says nothing, or is not of a type that is replayed."""


class Rounded:
    """A result that need not agree to the last bit: in units of the last place, and in absolute
    value by element. Of results that are 0 the sign may be open."""

    def __init__(self, array, ulps=0, either_zero=False, bound=None):
        self.array, self.ulps, self.either_zero, self.bound = array, ulps, either_zero, bound


def refusing(compute):
    def call(name, operands, arguments):
        try:
            return compute(name, operands, arguments)
        except (ValueError, IndexError, TypeError, ZeroDivisionError) as error:
            raise Refused from error
    return call


def entries_of(codes, arrays=()):
    """An index: four integers an entry (kind, start, stop, step), as layout_cases.py packs them;
    kind 4 is the next array, of positions or a mask, kind 5 is True or False."""
    arrays, entries = iter(arrays), []
    for kind, start, stop, step in zip(*[iter(codes)] * 4):
        bounds = [None if b == MISSING else b for b in (start, stop)]
        entries.append(start if kind == 0 else slice(*bounds, step) if kind == 1 else
                       None if kind == 2 else Ellipsis if kind == 3 else
                       next(arrays) if kind == 4 else bool(start))
    return tuple(entries)


# --- views ------------------------------------------------------------------------------------

def index(_, operands, arguments):
    result = operands[0][entries_of(arguments[0])]
    return result if isinstance(result, np.ndarray) else operands[0][
        (*entries_of(arguments[0]), Ellipsis)]


def view(name, operands, arguments):
    a = operands[0]
    if name == "reshape":
        return a.reshape(arguments[0], order="CF"[arguments[1][0]])
    return {"transpose": lambda axes: a.transpose(axes),
            "swapaxes": lambda axes: a.swapaxes(*axes),
            "flip": lambda axes: np.flip(a, tuple(axes)),
            "ravel": lambda order: a.ravel(order="CF"[order[0]]),
            "copy": lambda _: a.copy()}[name](arguments[0])


def field(name, operands, _):
    return operands[0][name]


def astype(name, operands, _):
    return operands[0].astype(name)


# --- elementwise ------------------------------------------------------------------------------

RENAMED = {"abs": "absolute"}
ROUNDED = {"exp": 4, "log": 4, "sin": 4, "cos": 4, "tanh": 4}


def unary(name, operands, _):
    a = operands[0]
    function = getattr(np, RENAMED.get(name, name))
    result = function(a)
    if a.dtype.kind == "c":
        return Rounded(result, 16)
    if name in ROUNDED and result.dtype.kind == "f":
        return Rounded(function(a.astype(np.longdouble)).astype(result.dtype), ROUNDED[name])
    return Rounded(result, 0, name == "sign")


def binary(name, operands, _):
    either_zero = name in ("minimum", "maximum")
    result = getattr(np, name)(*operands)
    return Rounded(result, 4 if result.dtype.kind == "c" else 0, either_zero)


TREES = {
    "axpy": lambda a, b, c: a * b + c,
    "larger": lambda a, b, c: np.where(a < b, b, c),
    "distance": lambda a, b, c: np.abs(a - b) + c,
    "ratio": lambda a, b, c: (a + b) / (c * c + 1),
    "clip": lambda a, b, c: np.minimum(np.maximum(a, b), c),
}


def tree(name, operands, _):
    return Rounded(TREES[name](*operands), 4 if operands[0].dtype.kind == "c" else 0, True)


# --- reductions -------------------------------------------------------------------------------

def axes_of(arguments):
    """None stands for all axes: an argument [0], or [1, axes...]."""
    return None if arguments[0][0] == 0 else tuple(arguments[0][1:])


def reduce(name, operands, arguments):
    a, axes, keepdims = operands[0], axes_of(arguments), bool(arguments[1][0])
    if name in ("argmin", "argmax"):
        if axes is not None and len(axes) != 1:
            raise ValueError
        return getattr(np, name)(a, axis=axes and axes[0], keepdims=keepdims)
    if name == "total":
        a = operands[0] * operands[1]
        name = "sum"
    result = getattr(np, name)(a, axis=axes, keepdims=keepdims)
    if result.dtype.kind not in "fc" or name in ("any", "all", "count_nonzero"):
        return result
    if name in ("min", "max"):
        return Rounded(result, 0, True)
    wide = a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)
    precise = getattr(np, name)(wide, axis=axes, keepdims=keepdims).astype(result.dtype)
    finite = np.abs(np.where(np.isfinite(a), a, 0)).astype(float)
    count = max(a.size // max(result.size, 1), 1)
    with np.errstate(all="ignore"):
        sizes = np.sum(finite, axis=axes, keepdims=keepdims)
        squares = np.maximum(64, np.sum(finite**2, axis=axes, keepdims=keepdims) / count)
    scale = {"sum": sizes, "mean": sizes / count, "var": squares,
             "std": np.sqrt(squares) + 64, "prod": np.abs(precise).astype(float)}[name]
    bound = 16 * EPSILON[str(result.dtype)] * np.nan_to_num(scale)
    if name in ("var", "std"):
        bound = bound + 1e-3 * EPSILON[str(result.dtype)] ** (0.5 if name == "std" else 1)
    if isinstance(result, np.ndarray):
        result[...] = precise  # in the order of the axes of what NumPy returns
        precise = result
    return Rounded(precise, 0, True, bound)


# --- writes -----------------------------------------------------------------------------------

def in_order(arrays):
    """For writes: copies, since NumPy reads values where it has written, also where it assigns one
    axis to one that shares memory with it and has another stride; in order, since it goes along
    negative strides backwards, so that of repeated positions the last one need not count."""
    return [np.array(a, order="C") for a in arrays]


def scalar_of(arguments, a):
    """An integer argument as a number of the array."""
    return a.dtype.type(arguments[-1][0])


def assign(name, operands, arguments):
    a, others = operands[0], operands[1:]
    if name == "fill":
        a[...] = scalar_of(arguments, a)
    elif name == "array":
        a[...] = in_order(others)[0]
    elif name == "axpy":
        a[...] = others[0] * 2 + others[1]
    elif name == "larger":
        a[...] = np.where(others[0] < others[1], others[0], a)
    else:
        getattr(np, name)(a, others[0], out=a, casting="same_kind")


def mask(name, operands, arguments):
    a = operands[0]
    if name == "above":
        return a[a > scalar_of(arguments, a)]
    m = operands[1]
    if name == "read":
        return a[m]
    if name == "product":
        return (a * operands[2])[m]
    if name == "fill":
        a[m] = scalar_of(arguments, a)
    elif name == "write":
        a[m] = in_order(operands)[2]
    elif name == "add":
        a[m] += operands[2]
    elif name == "copyto":
        for other in (m, operands[2]):
            np.broadcast_to(other, a.shape)  # of which NumPy sees none if there is nothing to do
        is_assigned, values = in_order(operands[1:])
        np.copyto(a, values, where=is_assigned)
    elif name == "place":
        np.place(a, m, in_order(operands)[2])
    elif name == "putmask":
        np.putmask(a, m, in_order(operands)[2])
    return None


def where(name, operands, arguments):
    if name == "nonzero":
        return list(np.nonzero(operands[0]))
    if name == "compress":
        return np.compress(operands[0], operands[1], axis=arguments[0][0])
    if name == "extract":
        return np.extract(operands[0], operands[1])
    return getattr(np, name)(operands[0])


def pick(name, operands, arguments):
    """Indices with arrays; the last operand of those that write has the values."""
    a = operands[0]
    arrays = sum(kind == 4 for kind in arguments[0][::4])
    entries = entries_of(arguments[0], in_order(operands[1 : 1 + arrays]))
    found = a[entries]
    if name == "read":
        return found.copy()  # a view, if the arrays have no axes
    if name == "twice":
        return found * 2 + found
    if name == "fill":
        a[entries] = scalar_of(arguments, a)
    elif name == "write":
        a[entries] = in_order(operands)[-1]
    elif name == "update":
        a[entries] += operands[-1]
    elif name == "add_at":
        if not found.size:
            raise Unsuitable  # it checks positions that meet no others
        if operands[-1].ndim > found.ndim:
            raise ValueError
        # broadcast before, since NumPy 2.4.6 reads beyond values that it has to broadcast itself
        values = np.array(np.broadcast_to(operands[-1], found.shape))
        once = a.astype(np.longdouble) if a.dtype.kind == "f" else None  # sums are rounded once
        np.add.at(a, entries, values)
        if once is not None:
            np.add.at(once, entries, values)
            a[...] = once
    return None


def take(name, operands, arguments):
    a, i = operands[:2]
    axis = arguments[0][0] if arguments else None
    if name in ("raise", "wrap", "clip"):
        return np.take(a, i, axis, mode=name)
    if name == "flat":
        return np.take(a, i)
    if name == "along":
        return np.take_along_axis(a, i, axis)
    if name == "put":
        a.ravel()[i]  # np.put writes until it finds a position outside
        np.put(a, *in_order(operands[1:]))
    else:
        np.put_along_axis(a, *in_order(operands[1:]), axis)
    return None


def choose(name, operands, _):
    return np.choose(operands[0], operands[1:], mode=name)


def join(name, operands, arguments):
    if name == "repeat":
        return np.repeat(operands[0], arguments[0], axis=arguments[1][0])
    if name == "roll":
        return np.roll(operands[0], arguments[0][0], axis=arguments[1][0])
    return getattr(np, name)(operands, axis=arguments[0][0])


# --- texts and files --------------------------------------------------------------------------

def text(_, operands, __):
    return str(operands[0][()] if operands[0].ndim == 0 else operands[0]).encode()


def saved(_, operands, __):
    stream = io.BytesIO()
    np.save(stream, operands[0])
    return stream.getvalue()


OPERATIONS = {name: refusing(function) for name, function in {
    "index": index, "view": view, "field": field, "astype": astype, "unary": unary,
    "binary": binary, "tree": tree, "reduce": reduce, "assign": assign, "mask": mask,
    "where": where, "pick": pick, "listed": pick, "take": take, "choose": choose, "join": join,
    "print": text, "save": saved,
}.items()}
