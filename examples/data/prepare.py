#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes jacksboro.npy from matplotlib's sample file and prints its cell size; needs numpy.

Usage: prepare.py jacksboro_fault_dem.npz jacksboro.npy
"""
import sys

import numpy as np

SEMI_MAJOR = 6378137.0  # WGS 84, metres
ECCENTRICITY2 = 0.00669437999014  # first eccentricity, squared


def cell_size(degrees_x, degrees_y, latitude):
    """Metres east and metres north that the angles span at a latitude of the ellipsoid."""
    phi = np.radians(latitude)
    bend = 1.0 - ECCENTRICITY2 * np.sin(phi) ** 2
    across = SEMI_MAJOR / np.sqrt(bend)  # radius of curvature in the prime vertical
    along = SEMI_MAJOR * (1.0 - ECCENTRICITY2) / bend**1.5  # and in the meridian
    return np.radians(degrees_x) * across * np.cos(phi), np.radians(degrees_y) * along


with np.load(sys.argv[1]) as source:
    elevation = source["elevation"].astype(np.float32)
    middle = float(source["ymin"] + source["ymax"]) / 2
    dx, dy = cell_size(float(source["dx"]), float(source["dy"]), middle)
np.save(sys.argv[2], elevation)
print(f"{elevation.shape}, {elevation.min()} to {elevation.max()} m, latitude {middle:.4f}")
print(f"cell {dx:.3f} x {dy:.3f} m")
