# SPDX-License-Identifier: BSD-3-Clause
"""Writes seeds for the fuzzers into folders npz, records and dlpack.

Usage: seeds.py FOLDER
"""

import io
import struct
import sys
import zipfile
from pathlib import Path

RECORDS = [
    "'<f4'",
    "'|b1'",
    "'>c16'",
    "[('x', '<f4'), ('y', '<f4')]",
    "[('y', '>f4'), ('', '|V4'), ('x', '<f4')]",
    "[('a', '<i2'), ('b', '|b1', (2,))]",
    "[('n', '|i1'), ('', '|V7'), ('x', '<f8'), "
    "('in', [('a', '<i2'), ('b', '|b1', (2,))], (3,)), ('', '|V4'), ('z', '<c8')]",
    "[('n', '|i1'), ('in', [('b', '|b1', (2,)), ('a', '>i2')], (3,)), ('z', '<c8'), ('x', '<f8')]",
]


def npy(descr, shape, data):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (10 + len(text)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


ARRAYS = {
    "a.npy": npy("'<f4'", "(2, 3)", bytes(24)),
    "big.npy": npy("'>i2'", "(3,)", b"\1\2\3\4\5\6"),
    "flags.npy": npy("'|b1'", "(4,)", b"\0\1\2\3"),
    "layer/caf\u00e9.npy": npy(RECORDS[3], "(1,)", bytes(8)),
    "long.npy": npy("'|u1'", "(20000,)", bytes(range(200)) * 100),
    "text": b"no array",
}


def archives():
    for method in zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED:
        for force_zip64 in False, True:
            for names in [], ["a.npy"], list(ARRAYS):
                stream = io.BytesIO()
                with zipfile.ZipFile(stream, "w", method) as archive:
                    for name in names:
                        with archive.open(name, "w", force_zip64=force_zip64) as member:
                            member.write(ARRAYS[name])
                yield stream.getvalue()
    data = stream.getvalue()  # with an end of 64 bits
    end = struct.unpack("<4s4H2LH", data[-22:])
    at = len(data) - 22
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, end[3], end[4], end[5], end[6])
    yield data[:at] + end64 + struct.pack("<4sLQL", b"PK\6\7", 0, at, 1) + data[at:]


def tensors():
    def tensor(bits, kind, axes, offset=0, device=1):
        version = struct.pack("<LLQ", 1, 0, 0) if bits & 1 else b""
        head = struct.pack("<BiiBBHQQ", device, 0, len(axes), *kind, 1, offset, 256)
        return bytes([bits]) + version + head + b"".join(struct.pack("<qq", *a) for a in axes)

    yield tensor(1, (2, 32), [(2, 3), (3, 1)])
    yield tensor(0, (0, 8), [])
    yield tensor(5, (6, 8), [(4, 0), (5, 0)])
    yield tensor(1, (5, 128), [(3, -1)], offset=64)
    yield tensor(0, (4, 16), [(0, 1), (7, 0)])
    yield tensor(1, (1, 64), [(1, 1)] * 32, device=3)


def main(folder):
    seeds = {"npz": archives(), "records": (r.encode() for r in RECORDS), "dlpack": tensors()}
    for name, values in seeds.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, value in enumerate(values):
            (folder / name / f"seed_{number:02}").write_bytes(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
