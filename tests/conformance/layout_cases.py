# SPDX-License-Identifier: BSD-3-Clause
"""The part of make_cases.py about shapes: slices and reshapes of drawn arrays."""
import struct

import numpy as np

MISSING = -128


def random_entry(random, n):
    kind = random.integers(8)
    if kind < 2 and n > 0:
        i = int(random.integers(-n, n))
        return i, [0, i, 0, 0]
    bounds = [None if random.random() < 0.3 else int(random.integers(-n - 2, n + 3))
              for _ in range(2)]
    step = int(random.choice([1, 1, 2, 3, -1, -2, -3]))
    return slice(*bounds, step), [1] + [MISSING if b is None else b for b in bounds] + [step]


def random_index(random, shape):
    """NumPy's index and the same as four bytes an entry: kind, start, stop, step."""
    entries, packed = [], []
    for n in shape[:random.integers(0, len(shape) + 1)]:
        if random.random() < 0.15:
            entries.append(None)
            packed.append([2, 0, 0, 0])
        entry, code = random_entry(random, n)
        entries.append(entry)
        packed.append(code)
    if random.random() < 0.3:
        at = random.integers(0, len(entries) + 1)
        entries.insert(at, Ellipsis)
        packed.insert(at, [3, 0, 0, 0])
    return tuple(entries), packed


def pack_dims(dims):
    return struct.pack("<B", len(dims)) + struct.pack(f"<{len(dims)}q", *dims)


def pack_index(packed):
    return struct.pack("<B", len(packed)) + b"".join(struct.pack("<4b", *e) for e in packed)


def positions(a):
    return np.ascontiguousarray(a, np.int32).tobytes()


def slices(cases, random):
    payload, count = bytearray(), 0
    while count < 250:
        shape = tuple(int(n) for n in random.integers(0, 6, random.integers(0, 5)))
        a = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
        entries, packed = random_index(random, shape)
        try:
            view = a[entries]
        except IndexError:  # the ellipsis moved an entry to a shorter axis
            continue
        count += 1
        strides = view.strides if view.size else ()
        payload += (pack_dims(shape) + pack_index(packed) + pack_dims(view.shape) +
                    pack_dims(strides) + positions(view))
    cases.add("slices", bytes(payload))


def random_shape_of(random, n):
    factors = []
    while n > 1:
        p = next(p for p in range(2, n + 1) if n % p == 0)
        factors.append(p)
        n //= p
    random.shuffle(factors)
    while len(factors) > 1 and random.random() < 0.5:
        factors[:2] = [factors[0] * factors[1]]
    return tuple(factors) + ((1,) if random.random() < 0.3 else ())


def reshapes(cases, random):
    payload, count = bytearray(), 0
    while count < 250:
        shape = tuple(int(n) for n in random.integers(1, 6, random.integers(1, 4)))
        a = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        axes = [int(d) for d in random.permutation(len(shape))]
        step = [int(random.choice([1, 1, 1, 2, -1])) for _ in shape]
        view = a[tuple(slice(None, None, s) for s in step)].transpose(axes)
        to, order = random_shape_of(random, view.size), "CFA"[random.integers(3)]
        result = view.reshape(to, order=order)
        strides = result.strides if np.shares_memory(result, a) else ()
        payload += (pack_dims(shape) + pack_dims(step) + pack_dims(axes) + pack_dims(to) +
                    order.encode() + struct.pack("<B", np.shares_memory(result, a)) +
                    pack_dims(strides) + positions(result))
        count += 1
    cases.add("reshapes", bytes(payload))
