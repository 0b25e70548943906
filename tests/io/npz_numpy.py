# SPDX-License-Identifier: BSD-3-Clause
"""Checks with NumPy the archives that npz_test writes, and the checksums of all members.

Usage: npz_numpy.py FILE...     Exits with 77 without NumPy.
"""

import sys
import zipfile

try:
    import numpy as np
except ImportError:
    sys.exit(77)

from npz_cases import arrays


def main(*paths):
    for path in paths:
        assert zipfile.ZipFile(path).testzip() is None
        with np.load(path) as archive:
            for name, wanted in arrays().items():
                got = archive[name]
                native = wanted.astype(wanted.dtype.newbyteorder("="))
                assert got.dtype == native.dtype and got.shape == native.shape, (path, name, got)
                assert got.flags.f_contiguous == native.flags.f_contiguous, (path, name)
                assert np.array_equal(got, native), (path, name, got)


if __name__ == "__main__":
    main(*sys.argv[1:])
