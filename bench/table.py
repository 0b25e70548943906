# SPDX-License-Identifier: BSD-3-Clause
"""How the reports write durations and tables."""

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def duration(seconds):
    for unit, scale in UNITS.items():
        if seconds >= scale or unit == "ns":
            digits = "{:.3g}" if seconds < 1000 * scale else "{:.0f}"
            return f"{digits.format(seconds / scale)} {unit}"


def markdown(rows):
    rows = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * width for width in widths])
    padded = ([cell.ljust(width) for cell, width in zip(row, widths)] for row in rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in padded)
