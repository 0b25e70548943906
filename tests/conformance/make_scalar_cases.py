# SPDX-License-Identifier: BSD-3-Clause
"""Writes scalar_cases.bin: what NumPy makes of every binary operation on an array and a plain
Python number, on either side. The entries are those of make_cases.py.

    pip install numpy ml_dtypes && python make_scalar_cases.py

"scalars" holds the numbers: the kind (1 byte), the number (16 bytes). An entry
operation/dtype/side has for each of them the result's type (1 byte) and, if it is one, the
tolerance in units of the last place (2 bytes) and the values.
"""
import cmath
import struct
from pathlib import Path

import ml_dtypes
import numpy as np

from make_cases import DTYPES, EXACT_BINARY, IDS, REFUSED, RENAMED, ROUNDED_BINARY, Cases

OPEN, OUT_OF_RANGE = 253, 254
SCALARS = [0, -1, 2, 128, 255, 256, 300, 70000, 2 ** 53 + 1, -2 ** 63, 2 ** 63, 2 ** 64 - 1,
           0.5, -2.0, 1e300, float("nan"), float("-inf"), True, False, 1 + 2j, -0.5j]


def packed(scalar):
    """bool, int64, uint64, double or complex."""
    if isinstance(scalar, bool):
        return struct.pack("<B?15x", 0, scalar)
    if isinstance(scalar, int):
        is_signed = scalar < 2 ** 63
        return struct.pack("<Bq8x" if is_signed else "<BQ8x", 1 if is_signed else 2, scalar)
    if isinstance(scalar, float):
        return struct.pack("<Bd8x", 3, scalar)
    return struct.pack("<Bdd", 4, scalar.real, scalar.imag)


def elements(dtype):
    if dtype.kind == "b":
        return np.array([False, True, True])
    if dtype.kind in "iu":
        return np.array([0, 3, np.iinfo(dtype).max] if dtype.kind == "u" else
                        [0, -3, np.iinfo(dtype).max], dtype)
    if dtype.kind == "c":
        return np.array([0, 1.5 - 2j, -3 + 0.5j], dtype)
    return np.array([0, -1.5, 3], dtype)


def tolerance(name, result):
    if result.dtype.kind == "c":
        return 4096 if name in ROUNDED_BINARY else 4
    return 4 if name in ROUNDED_BINARY and result.dtype.kind in "fV" else 0


def is_open(name, array, scalar):
    """What NumPy leaves open, or refuses for Python's sake."""
    if name.startswith("logical") and isinstance(scalar, int) and scalar >= 2 ** 63:
        return True
    is_complex = array.dtype.kind == "c" or isinstance(scalar, complex)
    return name == "power" and is_complex and not (cmath.isfinite(scalar) and abs(scalar) < 1e6)


def beside(array, scalar):
    """ml_dtypes does not know weak numbers: bfloat16 takes part as float16 does."""
    if array.dtype == DTYPES["bfloat16"] and type(scalar) in (int, float):
        return ml_dtypes.bfloat16(float(scalar))
    return scalar


def outcome(name, array, scalar, is_left):
    if is_open(name, array, scalar):
        return struct.pack("<B", OPEN)
    number = beside(array, scalar)
    try:
        function = getattr(np, RENAMED.get(name, name))
        result = function(number, array) if is_left else function(array, number)
    except TypeError:
        return struct.pack("<B", REFUSED)
    except OverflowError:
        return struct.pack("<B", OUT_OF_RANGE)
    except ValueError:  # integers to negative integer powers
        return struct.pack("<B", OPEN)
    return struct.pack("<BH", IDS[result.dtype], tolerance(name, result)) + result.tobytes()


def main():
    cases = Cases()
    cases.add("scalars", b"".join(packed(s) for s in SCALARS))
    with np.errstate(all="ignore"):
        for dtype_name, dtype in DTYPES.items():
            array = elements(dtype)
            cases.add(f"in/scalar/{dtype_name}", array.tobytes())
            for name in EXACT_BINARY + ROUNDED_BINARY:
                for side in "lr":
                    data = [outcome(name, array, scalar, side == "l") for scalar in SCALARS]
                    cases.add(f"{name}/{dtype_name}/{side}", b"".join(data))
    Path(__file__).with_name("scalar_cases.bin").write_bytes(cases.data)
    print(f"NumPy {np.__version__}, ml_dtypes {ml_dtypes.__version__}", len(cases.data), "bytes")


if __name__ == "__main__":
    main()
