# SPDX-License-Identifier: BSD-3-Clause
"""Writes npz_cases.inc: small .npz files made by NumPy, for npz_test.cpp.

Usage: npz_cases.py > npz_cases.inc      (NumPy 2.4)
"""

import io

import numpy as np


def arrays():
    record = np.dtype([("id", "<i4"), ("pos", "<f4", (2,))])
    return {
        "a": np.arange(6, dtype="f4").reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6, dtype="f8").reshape(2, 3)),
        "scalar": np.asarray(np.int64(-7)),
        "empty": np.zeros((0, 3), "u1"),
        "big": np.arange(3, dtype=">u2"),
        "flags": np.array([True, False]),
        "records": np.array([(1, (0.5, 1.5)), (2, (2.5, 3.5))], record),
        "layer/caf\u00e9": np.array([1 + 2j], "c8"),
    }


def emit(save, values):
    stream = io.BytesIO()
    save(stream, **values)
    print(f'"{stream.getvalue().hex()}",')


def main():
    print("// SPDX-License-Identifier: BSD-3-Clause")
    print("// Written by npz_cases.py.")
    native = {name: a for name, a in arrays().items() if name != "big"}
    for save in np.savez, np.savez_compressed:
        emit(save, arrays())
    for save in np.savez, np.savez_compressed:
        emit(save, native)
    emit(np.savez, {})


if __name__ == "__main__":
    main()
