# SPDX-License-Identifier: BSD-3-Clause
# The Mandelbrot set: after how many steps each point leaves the circle. Usage: mandelbrot.py N
import sys

import numpy as np

n = int(sys.argv[1])
limit = 100
b, a = np.linspace(-1.25, 1.25, n)[:, None], np.linspace(-2, 0.5, n)
x, y = np.zeros((n, n)), np.zeros((n, n))
inside = np.ones((n, n), bool)
steps = np.zeros((n, n), int)
for _ in range(limit):
    x, y = np.where(inside, x * x - y * y + a, x), np.where(inside, 2 * x * y + b, y)
    inside = x * x + y * y < 4
    steps += inside
escaped = steps < limit
print("area", 2.5**2 * inside.mean(), "slowest to leave", steps[escaped].max())
print("mean steps of those that leave", steps[escaped].mean())
print("leaving after 0, 1, 2, ... steps", np.bincount(steps[escaped])[:20])
rows = np.flatnonzero(inside.any(1))
columns = np.flatnonzero(inside.any(0))
print("rows", rows[0], "to", rows[-1], "columns", columns[0], "to", columns[-1])
print("symmetric", (steps == np.flipud(steps)).all())
print(steps[:: n // 16, :: n // 16])
