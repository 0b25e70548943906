# SPDX-License-Identifier: BSD-3-Clause
"""Writes index_cases.bin: what NumPy reads and writes by drawn indices with arrays of positions.

    pip install numpy && python make_index_cases.py

"indices" has for each case the array's shape, the entries (kind, then start, stop and step, or the
shape of the positions and these), the shape and the elements that are read of 0, 1, ..., and the
array after -1, -2, ... was written to them.
"""
import struct
from pathlib import Path

import numpy as np

from layout_cases import pack_dims, positions, random_entry

COUNT = 400


def drawn_entry(random, n, together):
    """An entry for an axis of n elements, and its bytes."""
    if random.random() < 0.45:
        entry, code = random_entry(random, n)
        return entry, np.array(code, np.int8).tobytes()
    shape = together[random.integers(len(together) + 1):]
    shape = tuple(1 if random.random() < 0.25 else int(e) for e in shape)
    if n == 0 and np.prod(shape) > 0:
        shape = (0,)
    entry = random.integers(-n, max(n, 1), shape)
    return entry, b"\4" + pack_dims(shape) + positions(entry)


def drawn_index(random, shape):
    together = tuple(int(e) for e in random.integers(0, 4, random.integers(0, 4)))
    entries, packed = [], []
    for n in shape[:random.integers(1, len(shape) + 1)]:
        entry, code = drawn_entry(random, n, together)
        entries.append(entry)
        packed.append(code)
    for plain, code, share in ((None, b"\2\0\0\0", 0.2), (Ellipsis, b"\3\0\0\0", 0.3)):
        if random.random() < share:
            at = random.integers(len(entries) + 1)
            entries.insert(at, plain)
            packed.insert(at, code)
    return tuple(entries), packed


def main():
    random, payload, count = np.random.default_rng(21), bytearray(), 0
    while count < COUNT:
        shape = tuple(int(n) for n in random.integers(0 if random.random() < 0.1 else 1, 6,
                                                      random.integers(1, 5)))
        a = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
        index, packed = drawn_index(random, shape)
        arrays = sum(isinstance(e, np.ndarray) for e in index)
        if not 1 <= arrays <= 3 or len(index) > 4:
            continue
        try:
            read = a[index]
        except IndexError:  # the ellipsis moved an entry to a shorter axis
            continue
        if any(isinstance(e, np.ndarray) and e.size and not read.size for e in index):
            continue  # NumPy does not check positions that meet no others
        written = a.copy()
        written[index] = -1 - np.arange(read.size).reshape(read.shape)
        payload += (pack_dims(shape) + bytes([len(packed)]) + b"".join(packed) +
                    pack_dims(read.shape) + positions(read) + positions(written))
        count += 1
    entry = b"\7indices" + struct.pack("<I", len(payload)) + payload
    Path(__file__).with_name("index_cases.bin").write_bytes(entry)


if __name__ == "__main__":
    main()
