# SPDX-License-Identifier: BSD-3-Clause
"""Writes cases.bin: inputs and what NumPy makes of them.

    pip install numpy ml_dtypes && python make_cases.py

Entries follow each other: the length of a key (1 byte), the key, the length of its data
(4 bytes), the data.
"""
import itertools
import struct
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np

from layout_cases import reshapes, slices

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
DTYPES = {n: np.dtype(ml_dtypes.bfloat16 if n == "bfloat16" else n) for n in NAMES}
IDS = {d: i for i, d in enumerate(DTYPES.values())}
REFUSED = 255
COUNT = 72
PAIRS = 96

RENAMED = {"abs": "absolute", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
           "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
           "conj": "conjugate"}
EXACT_UNARY = """negative positive abs sign square sqrt floor ceil trunc rint isnan isinf isfinite
signbit logical_not invert real imag conj reciprocal""".split()
ROUNDED_UNARY = """cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh
tanh asinh acosh atanh""".split()
EXACT_BINARY = """add subtract multiply divide floor_divide remainder fmod minimum maximum fmin fmax
copysign equal not_equal less less_equal greater greater_equal logical_and logical_or
logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift""".split()
ROUNDED_BINARY = ["power", "atan2", "hypot"]
EITHER_ZERO = {"minimum", "maximum", "fmin", "fmax", "sign"}  # the sign of a zero is open

random = np.random.default_rng(20)


class Cases:
    def __init__(self):
        self.data = bytearray()

    def add(self, key, payload):
        self.data += struct.pack("<B", len(key)) + key.encode()
        self.data += struct.pack("<I", len(payload)) + payload


def integers(dtype, n):
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max - 1, info.max, 0, 1, 2, max(info.min, -1)]
    low = max(info.min, -9)

    def value():
        if random.random() < 0.35:
            return ends[random.integers(len(ends))]
        if random.random() < 0.5:
            return int(random.integers(low, 10))
        return int(random.integers(info.min, info.max, dtype=dtype))

    return np.array([value() for _ in range(n)], dtype)


def floats(dtype, n, extremes=True):
    info = ml_dtypes.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, tiny, -tiny, 7 * tiny]
    if extremes:
        special += [float(info.tiny), float(info.max), -float(info.max), float(info.eps)]
    span = np.log10(float(info.max)) * (0.9 if extremes else 0.02)
    ordinary = [lambda: random.uniform(-4, 4), lambda: float(random.integers(-6, 7)) / 2,
                lambda: random.choice([-1, 1]) * 10 ** random.uniform(-span, span)]
    return np.array([random.choice(special) if random.random() < 0.33 else
                     ordinary[random.integers(3)]() for _ in range(n)]).astype(dtype)


def values(dtype, n):
    if dtype.kind == "b":
        return random.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        return integers(dtype, n)
    if dtype.kind == "c":
        part = np.dtype("f4" if dtype.itemsize == 8 else "f8")
        result = np.empty(n, dtype)
        result.real, result.imag = floats(part, n, False), floats(part, n, False)
        return result
    return floats(dtype, n)


def wide(a, dtype):
    """The values, rounded to `dtype`, in the widest type of their kind."""
    return a.astype(dtype).astype(np.clongdouble if dtype.kind == "c" else np.longdouble)


def apply(name, operands):
    """The result with the tolerance in units of the last place."""
    ufunc = getattr(np, RENAMED.get(name, name))
    plain = ufunc(*operands)
    kind = plain.dtype.kind
    if kind == "c" and name == "power":  # an exponential of a rounded product, there too
        return plain, 4096
    unsure_at_the_ends = kind == "c" and name == "sign"  # by an absolute value that is subnormal
    if (name in ROUNDED_UNARY + ROUNDED_BINARY or unsure_at_the_ends) and kind not in "iu":
        precise = ufunc(*(wide(a, plain.dtype) for a in operands)).astype(plain.dtype)
        if kind == "c" and name == "exp2":
            return precise, 4096  # the angle is rounded, though to more digits
        return precise, 16 if kind == "c" else 1 if plain.dtype.itemsize == 2 else 4
    if "c" in (a.dtype.kind for a in operands) and kind in "cf":
        return plain, 0 if name in ("real", "imag", "conj", "positive", "negative") else 4
    return plain, 0


def suitable(name, operands):
    """Without what NumPy refuses or leaves to the machine."""
    last = operands[-1]
    three = last.dtype.type(3)
    if name == "power" and last.dtype.kind in "iu":
        return [operands[0], np.where(last < 0, three, last)]
    if name == "power" and last.dtype.kind == "c":
        base, exponent = (np.where(np.isfinite(a), a, three) for a in operands)
        with np.errstate(all="ignore"):  # the last place of the product decides the result there
            too_large = (base != 0) & ~(abs(exponent * np.log(base)) < 400)
        return [base, np.where(too_large, three, exponent)]
    if name == "reciprocal" and last.dtype.kind in "iu":
        return [np.where(last == 0, three, last)]
    return operands


def case(cases, key, name, operands):
    used = suitable(name, operands)
    if used is not operands:
        cases.add(f"in:{key}", b"".join(a.tobytes() for a in used))
    try:
        result, ulps = apply(name, used)
    except TypeError:
        return cases.add(key, struct.pack("<B", REFUSED))
    either = name in EITHER_ZERO
    cases.add(key, struct.pack("<BHB", IDS[result.dtype], ulps, either) + result.tobytes())


def elementwise(cases):
    used = [n for n in NAMES if n not in ("int16", "uint16", "uint32")]
    for n in used:
        operand = values(DTYPES[n], COUNT)
        cases.add(f"in/{n}", operand.tobytes())
        a, b = values(DTYPES[n], PAIRS), values(DTYPES[n], PAIRS)
        cases.add(f"in/{n}/{n}", a.tobytes() + b.tobytes())
        for name in EXACT_UNARY + ROUNDED_UNARY:
            case(cases, f"{name}/{n}", name, [operand])
        for name in EXACT_BINARY + ROUNDED_BINARY:
            case(cases, f"{name}/{n}/{n}", name, [a, b])


MIXED = """bool/int8 bool/float32 int8/uint8 int8/uint64 uint8/int32 int32/uint32 int64/uint64
int32/float16 int64/float32 uint8/float16 uint64/float32 float16/float32 float32/float64
int16/float32 int32/complex64 float64/complex64 complex64/complex128 float16/complex64
uint16/int16 bool/complex128 int8/float16 int16/float16""".split()


def mixed(cases):
    for pair in MIXED:
        a, b = (values(DTYPES[n], 32) for n in pair.split("/"))
        cases.add(f"in/{pair}", a.tobytes() + b.tobytes())
        for name in ["add", "multiply", "divide", "less", "equal", "maximum"]:
            case(cases, f"{name}/{pair}", name, [a, b])


def selections(cases):
    for n in ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"]:
        x, y, z = (values(DTYPES[n], 48) for _ in range(3))
        c = values(DTYPES["bool"], 48)
        cases.add(f"in3/{n}", c.tobytes() + x.tobytes() + y.tobytes() + z.tobytes())
        result = np.where(c, x, y)
        cases.add(f"where/{n}", struct.pack("<BHB", IDS[result.dtype], 0, 0) + result.tobytes())
        result = np.minimum(np.maximum(x, y), z)
        if n != "bool":
            cases.add(f"clip/{n}", struct.pack("<BHB", IDS[result.dtype], 0, 1) + result.tobytes())


SCALARS = {"int": 3, "float": 0.5, "bool": True, "complex": 1 + 2j}


def weak_scalars(cases):
    for n in ["bool", "int8", "uint8", "int64", "float16", "float32", "complex64"]:
        a = values(DTYPES[n], 24)
        cases.add(f"in/weak/{n}", a.tobytes())
        for kind, scalar in SCALARS.items():
            for name in ["add", "multiply"]:
                result = getattr(np, name)(a, scalar)
                ulps = 4 if result.dtype.kind == "c" else 0
                cases.add(f"{name}/{n}/weak/{kind}",
                          struct.pack("<BHB", IDS[result.dtype], ulps, 0) + result.tobytes())


REDUCTIONS = ["sum", "prod", "mean", "min", "max", "any", "all"]
SHAPE = (3, 4, 5)


def error_bound(name, a, axes, result):
    """n * eps * sum|x|, or of |result| for a product; half precision also rounds the result."""
    if result.dtype.kind not in "fc" or name in ("min", "max"):
        return np.zeros(result.shape)
    count = np.prod([SHAPE[d] for d in axes])
    wide_a = np.abs(a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble))
    scale = np.abs(result).astype(np.longdouble) if name == "prod" else wide_a.sum(axis=axes)
    if name == "mean":
        scale = scale / count
    real = np.dtype("f4" if result.dtype.itemsize <= 8 and result.dtype != np.float64 else "f8")
    bound = 4 * count * np.finfo(real).eps * scale
    if result.dtype.itemsize == 2:
        bound = bound + np.abs(result).astype(np.longdouble) * 2.0 ** -10 + 2.0 ** -24
    return np.nan_to_num(np.asarray(bound, np.float64), nan=0.0, posinf=0.0)


def reduce(name, a, axes):
    if a.dtype.kind in "fc" and name in ("sum", "prod", "mean"):
        precise = a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)
        return getattr(np, name)(precise, axis=axes).astype(a.dtype)
    return getattr(np, name)(a, axis=axes)


def moderate(dtype, n):
    if dtype.kind in "iub":
        return values(dtype, n)
    result = random.uniform(-2, 2, n)
    return (result + 1j * random.uniform(-2, 2, n) if dtype.kind == "c" else result).astype(dtype)


def special(dtype, n):
    result = moderate(dtype, n)
    if dtype.kind in "fc":
        choice = [np.nan, np.inf, -np.inf, -0.0, float(np.finfo(dtype).smallest_subnormal), 0.0]
        which = random.random(n) < 0.3
        result[which] = random.choice(choice, which.sum())
    return result


def variance_bound(name, a, axes, result):
    """Of two passes: the mean is off by count * eps * max|x|, and so is each distance."""
    count = np.prod([SHAPE[d] for d in axes])
    eps = np.finfo("f4" if result.dtype.itemsize <= 4 else "f8").eps
    size = np.abs(a.astype(np.clongdouble if a.dtype.kind == "c" else np.longdouble)).max(axis=axes)
    spread = np.abs(result).astype(np.longdouble)
    bound = 4 * count * eps * (spread + size * (spread ** 0.5 if name == "var" else 1))
    if result.dtype.itemsize == 2:
        bound = bound + spread * 2.0 ** -10 + 2.0 ** -24
    return np.nan_to_num(np.asarray(bound, np.float64), nan=0.0, posinf=0.0)


def variances(cases, key, a, subsets):
    for name, ddof, axes in itertools.product(["var", "std"], [0, 1, 4], subsets):
        mask = sum(1 << d for d in axes)
        precise = a if a.dtype.kind in "iub" else wide(a, a.dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no degrees of freedom
            result = np.asarray(getattr(np, name)(precise, axis=axes, ddof=ddof))
        kind = getattr(np, name)(np.ones(1, a.dtype)).dtype
        result = result.astype(kind)
        bound = variance_bound(name, a, axes, result)
        cases.add(f"{name}{ddof}/{key}/{mask}",
                  struct.pack("<B", IDS[kind]) + result.tobytes() + bound.tobytes())


def reductions(cases):
    subsets = [s for r in (1, 2, 3) for s in itertools.combinations(range(3), r)]
    for n, make in itertools.product(
            ["bool", "int8", "int32", "uint64", "float16", "float32", "float64", "complex64"],
            [moderate, special]):
        if make is special and DTYPES[n].kind not in "fc":
            continue
        a = make(DTYPES[n], 60).reshape(SHAPE)
        key = f"{n}/{make.__name__}"
        cases.add(f"in/reduce/{key}", a.tobytes())
        for name, axes in itertools.product(REDUCTIONS, subsets):
            if name == "prod" and make is special:
                continue  # whether a denormal times an infinity is 0 * inf depends on the order
            mask = sum(1 << d for d in axes)
            result = np.asarray(reduce(name, a, axes))
            bound = error_bound(name, a, axes, result)
            cases.add(f"{name}/{key}/{mask}", struct.pack("<B", IDS[result.dtype]) +
                      result.tobytes() + bound.tobytes())
        variances(cases, key, a, subsets)
        for name, axis in itertools.product(["argmin", "argmax"], [None, 0, 1, 2]):
            result = np.asarray(getattr(np, name)(a, axis=axis), np.int64)
            mask = 7 if axis is None else 1 << axis
            cases.add(f"{name}/{key}/{mask}", struct.pack("<B", IDS[result.dtype]) +
                      result.tobytes() + bytes(8 * result.size))


def roundings(cases):
    for n in ["bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64"]:
        dtype = DTYPES[n]
        if dtype.kind in "iu":  # not to where NumPy's conversion from float64 is undefined
            top = min(np.iinfo(dtype).max // 10 * 9, 2 ** 52)
            low = -top if dtype.kind == "i" else 0
            a = random.integers(low, top, 48).astype(dtype)
        else:
            a = values(dtype, 48)
        cases.add(f"in/round/{n}", a.tobytes())
        for decimals in [0] if n == "bool" else [-2, -1, 0, 1, 3]:
            result = np.round(a, decimals)
            cases.add(f"round/{n}/{decimals}",
                      struct.pack("<BHB", IDS[result.dtype], 0, 0) + result.tobytes())


def counts(cases):
    for n in NAMES[:9]:
        dtype = DTYPES[n]
        a = random.integers(0, 2 if n == "bool" else 100, 60).astype(dtype)
        cases.add(f"in/bincount/{n}", a.tobytes())
        for minlength in [0, 1, 150]:
            result = np.bincount(a, minlength=minlength)
            cases.add(f"bincount/{n}/{minlength}",
                      struct.pack("<BI", IDS[result.dtype], len(result)) + result.tobytes())


def main():
    cases = Cases()
    with np.errstate(all="ignore"):
        elementwise(cases)
        mixed(cases)
        selections(cases)
        weak_scalars(cases)
        reductions(cases)
    slices(cases, random)
    reshapes(cases, random)
    with np.errstate(all="ignore"):
        roundings(cases)
    counts(cases)
    versions = f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}"
    cases.add("versions", versions.encode())
    Path(__file__).with_name("cases.bin").write_bytes(cases.data)
    print(versions, len(cases.data), "bytes")


if __name__ == "__main__":
    main()
