# SPDX-License-Identifier: BSD-3-Clause
# k-means clustering by Lloyd's steps. Usage: kmeans.py POINTS.npy CLUSTERS
import sys

import numpy as np

points = np.load(sys.argv[1])
k = int(sys.argv[2])
centres = points[:k]
shift = 1
while shift > 1e-6:
    distances = ((points[:, None] - centres) ** 2).sum(-1)
    nearest = distances.argmin(1)
    sizes = np.bincount(nearest, minlength=k)
    sums = np.zeros_like(centres)
    np.add.at(sums, nearest, points)
    counts = sizes[:, None]
    means = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
    shift = np.abs(means - centres).max()
    centres = means
    print("sizes", sizes, "shift", shift)

way = np.sqrt(distances.min(1))
among = np.sqrt(((centres[:, None] - centres) ** 2).sum(-1))
between = among[~np.eye(k, dtype=bool)]
print("centres", centres)
print("mean way", way.mean(), "longest", way.max())
print("between from", between.min(), "to", between.max())
print("the largest cluster:", np.flatnonzero(nearest == sizes.argmax()))
print("the smallest:", np.flatnonzero(nearest == sizes.argmin()))
