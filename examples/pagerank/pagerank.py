# SPDX-License-Identifier: BSD-3-Clause
# The PageRank of every page, by power iteration. Usage: pagerank.py LINKS.npy (rows: from, to)
import sys

import numpy as np

links = np.load(sys.argv[1])
source, target = links[:, 0], links[:, 1]
n = links.max() + 1
count = np.bincount(source, minlength=n)
ends = count == 0
rank = np.full(n, 1 / n)
steps = 0
change = 1
while change > 1e-9:
    share = rank / np.maximum(count, 1)
    received = np.zeros(n)
    np.add.at(received, target, share[source])
    lost = rank[ends].sum() / n
    updated = 0.15 / n + 0.85 * (received + lost)
    change = np.abs(updated - rank).sum()
    rank = updated
    steps += 1
best = rank.argmax()
print(n, "pages,", ends.sum(), "without links,", steps, "steps")
print("first", best, "linked from", source[target == best])
print("above twice the mean:", np.flatnonzero(rank > 2 / n))
print(rank)
