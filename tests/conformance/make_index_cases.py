# SPDX-License-Identifier: BSD-3-Clause
"""Writes index_cases.bin: what NumPy reads and writes by drawn indices with arrays of positions and
masks.

    pip install numpy && python make_index_cases.py

"indices" and "masks" have for each case the array's shape, the entries (kind, then start, stop and
step, or the shape of the positions or the mask and these), the shape and the elements that are read
of 0, 1, ..., and the array after -1, -2, ... was written to them. "masks" has masks among the
entries, any number of arrays, and after that the array after 100, 101, ... was added to the
elements in place, and by np.add.at.
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


def drawn_mask(random, extents, n):
    """A mask with n elements that are true, if there are so many, or as they come."""
    mask = random.random(extents) < random.choice([0, 0.3, 0.6, 1])
    if n is not None and mask.size >= n:
        mask = np.zeros(mask.size, bool)
        mask[random.permutation(mask.size)[:n]] = True
        mask = mask.reshape(extents)
    return mask, b"\5" + pack_dims(mask.shape) + positions(mask)


def drawn_list(random, shape):
    """Entries with masks, which broadcast with what stands beside them."""
    n = int(random.integers(0, 4))
    together = (n,) if random.random() < 0.5 else (int(random.integers(1, 3)), n)
    entries, packed, axis = [], [], 0
    while axis < len(shape) and random.random() < 0.85:
        axes = int(random.integers(1, 4))
        if random.random() < 0.3 and axis + axes <= len(shape):
            entry, code = drawn_mask(random, shape[axis:axis + axes],
                                     random.choice([n, n, n, 1, None]))
            axis += axes
        else:
            entry, code = drawn_entry(random, shape[axis], together)
            axis += 1
        entries.append(entry)
        packed.append(code)
    extra = [(None, b"\2\0\0\0", 0.15), (Ellipsis, b"\3\0\0\0", 0.25)]
    extra += [drawn_mask(random, (), None) + (0.15,)]
    for plain, code, share in extra:
        if random.random() < share:
            at = random.integers(len(entries) + 1)
            entries.insert(at, plain)
            packed.insert(at, code)
    return tuple(entries), packed


def mask_cases(random):
    payload, count = bytearray(), 0
    while count < COUNT:
        shape = tuple(int(n) for n in random.integers(0 if random.random() < 0.1 else 1, 5,
                                                      random.integers(0, 6)))
        a = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
        index, packed = drawn_list(random, shape)
        masks = [e for e in index if isinstance(e, np.ndarray) and e.dtype == bool]
        is_moved = any(e is Ellipsis for e in index)
        if not masks or is_moved and not all(mask.size for mask in masks):
            continue  # NumPy does not compare an extent of 0 with the axis
        try:
            read = a[index]
        except IndexError:  # what does not broadcast together, too
            continue
        values = np.arange(read.size, dtype=np.int32).reshape(read.shape)
        written, updated, added = a.copy(), a.copy(), a.copy()
        written[index] = -1 - values
        updated[index] += 100 + values
        np.add.at(added, index, 100 + values)
        payload += (pack_dims(shape) + bytes([len(packed)]) + b"".join(packed) +
                    pack_dims(read.shape) + positions(read) + positions(written) +
                    positions(updated) + positions(added))
        count += 1
    return payload


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
        written = a.copy()
        written[index] = -1 - np.arange(read.size).reshape(read.shape)
        payload += (pack_dims(shape) + bytes([len(packed)]) + b"".join(packed) +
                    pack_dims(read.shape) + positions(read) + positions(written))
        count += 1
    entry = b"\7indices" + struct.pack("<I", len(payload)) + payload
    masks = mask_cases(random)
    entry += b"\5masks" + struct.pack("<I", len(masks)) + masks
    Path(__file__).with_name("index_cases.bin").write_bytes(entry)


if __name__ == "__main__":
    main()
