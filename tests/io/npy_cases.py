# SPDX-License-Identifier: BSD-3-Clause
"""Writes npy_cases.inc: small .npy files made by NumPy, for npy_format_test.cpp.

Usage: npy_cases.py > npy_cases.inc      (NumPy 2.4)
"""

import io
import warnings

import numpy as np
from numpy.lib import format as npy

TYPES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
SHAPES = [(), (0,), (3,), (2, 3), (3, 0, 2), (1, 2, 1, 2)]
rng = np.random.default_rng(2026)


def sample(code, shape):
    values = np.asarray(rng.normal(size=shape) * 3).astype(code)
    return values + np.asarray(1j if code[0] == "c" else 0, code)


def emit(array, version):
    """The file, and its elements in the order of the file, little-endian."""
    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        npy.write_array(stream, array, version)
    swapped = array.dtype.byteorder == ">"
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    native = array.astype(array.dtype.newbyteorder("<"))
    elements = native.tobytes(order="F" if fortran else "C").hex()
    name = "bool_" if array.dtype == bool else array.dtype.name
    extents = ", ".join(map(str, array.shape))
    print(f'{{"{stream.getvalue().hex()}",\n TypeId::{name}, {version[0]}, {str(fortran).lower()},'
          f' {str(swapped).lower()}, {array.ndim}, {{{extents}}},\n "{elements}"}},')


def main():
    print("// SPDX-License-Identifier: BSD-3-Clause")
    print("// Written by npy_cases.py.")
    for code in TYPES:
        emit(sample(code, (2, 3)), (1, 0))
        emit(sample(code, (2, 3)).T, (2, 0))
        emit(sample(code, (3,)).astype(">" + code), (3, 0))
    for shape in SHAPES:
        emit(sample("f4", shape), (1, 0))
        emit(np.asfortranarray(sample("i2", shape)), (1, 0))


if __name__ == "__main__":
    main()
