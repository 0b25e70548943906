# SPDX-License-Identifier: BSD-3-Clause
"""Prints promotion_table.inc: what NumPy and ml_dtypes promote each pair of element types to.

    python make_promotion_table.py > promotion_table.inc
"""

import ml_dtypes
import numpy as np

NAMES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]
DTYPES = {name: np.dtype(getattr(ml_dtypes, name, None) or name) for name in NAMES}
IDS = {dtype: "bool_" if name == "bool" else name for name, dtype in DTYPES.items()}
SCALARS = {"boolean": True, "signed_integer": 1, "floating": 1.0, "complex": 1j}


def promote(a, b):
    """ml_dtypes registers no promotion of some pairs with bfloat16: ask what their sum is."""
    try:
        return np.promote_types(a, b)
    except np.exceptions.DTypePromotionError:
        return (np.zeros(1, a) + np.zeros(1, b)).dtype


def main():
    print("// SPDX-License-Identifier: BSD-3-Clause")
    print("// Made by make_promotion_table.py with "
          f"NumPy {np.__version__} and ml_dtypes {ml_dtypes.__version__}.")
    print("// PAIR(a, b, numpy.promote_types(a, b), or the type of a + b where that has no answer)")
    for a in DTYPES.values():
        for b in DTYPES.values():
            print(f"PAIR({IDS[a]}, {IDS[b]}, {IDS[promote(a, b)]})")
    print("// SCALAR(a, kind of Python scalar, numpy.result_type(a, scalar))")
    for a in DTYPES.values():
        for kind, scalar in SCALARS.items():
            print(f"SCALAR({IDS[a]}, {kind}, {IDS[np.result_type(a, scalar)]})")


if __name__ == "__main__":
    main()
