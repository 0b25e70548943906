# SPDX-License-Identifier: BSD-3-Clause
# Conway's game of life on a torus. Usage: life.py BOARD.npy
import sys

import numpy as np

alive = np.load(sys.argv[1])
rule = np.zeros((2, 9), bool)
rule[0, 3] = True  # a cell is born beside three others
rule[1, 2:4] = True  # and lives on beside two or three
age = alive.astype(int)

for generation in range(1, 101):
    padded = np.pad(alive, 1, mode="wrap")
    blocks = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    neighbours = blocks.sum((2, 3)) - alive
    alive = rule[alive.astype(int), neighbours]
    age = np.where(alive, age + 1, 0)
    if generation % 20 == 0:
        print(generation, "living", alive.sum(), "born", (age == 1).sum())

old = age > 50
rows, columns = np.nonzero(old)
print("living in each row", alive.sum(1))
print("living in each column", alive.sum(0))
print("ages", age[alive])
print("the oldest", age.max(), "in row", age.max(1).argmax())
print("over 50:", old.sum(), "at", rows, columns)
print(age)
