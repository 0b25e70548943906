# SPDX-License-Identifier: BSD-3-Clause
"""Writes loop_table.inc: which loop NumPy runs for every operation and combination of types.

    pip install numpy ml_dtypes && python loop_table.py > loop_table.inc

UNARY_LOOPS(operation, loops, results) and BINARY_LOOPS(operation, loops, results) hold one letter
for each type, or for each pair of types row by row, in the order of dtype.def: NumPy's type codes,
with 'E' for bfloat16 and 't' for bool. '-' says that the operation refuses the types, '*' that the
loop takes two different types, and '.' that ml_dtypes has no loop there.
"""
import ml_dtypes
import numpy as np

TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
RENAMED = {"abs": "absolute", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
           "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
           "atan2": "arctan2", "conj": "conjugate"}
BINARY = """add subtract multiply divide floor_divide remainder fmod power minimum maximum fmin fmax
atan2 hypot copysign equal not_equal less less_equal greater greater_equal logical_and
logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift""".split()
UNARY = """negative positive abs sign square reciprocal sqrt cbrt exp exp2 expm1 log log2 log10
log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh floor ceil trunc
rint isnan isinf isfinite signbit logical_not invert conj""".split()


CODES = dict(zip(TYPES, "tbhilBHILeEfdFD"))


def dtype(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def letters(operation, operands):
    ufunc = getattr(np, RENAMED.get(operation, operation))
    try:
        loop = ufunc.resolve_dtypes(tuple(map(dtype, operands)) + (None,))
    except TypeError:  # refused, or no common type
        return ".." if "bfloat16" in operands and len(operands) == 2 else "--"
    *inputs, result = (CODES[t.name] for t in loop)
    return (inputs[0] if len(set(inputs)) == 1 else "*") + result


def main():
    print("// SPDX-License-Identifier: BSD-3-Clause")
    versions = f"NumPy {np.__version__} and ml_dtypes {ml_dtypes.__version__}"
    print(f"// Written by loop_table.py with {versions}.")
    for operation in UNARY:
        cells = [letters(operation, (a,)) for a in TYPES]
        loops, results = ("".join(cell[which] for cell in cells) for which in (0, 1))
        print(f'UNARY_LOOPS({operation}, "{loops}", "{results}")')
    for operation in BINARY:
        print(f"BINARY_LOOPS({operation}", end="")
        cells = [[letters(operation, (a, b)) for b in TYPES] for a in TYPES]
        for which in (0, 1):
            lines = [f'    "{"".join(cell[which] for cell in row)}"' for row in cells]
            print(",\n" + "\n".join(lines), end="")
        print(")")


main()
