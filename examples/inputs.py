# SPDX-License-Identifier: BSD-3-Clause
"""What the programs are run on: from a generator of random numbers the array that the .npy file
holds, or None, and the arguments behind it."""

import numpy as np


def life(random):
    return random.random(random.integers(12, 40, 2)) < 0.35, []


def kmeans(random):
    k = int(random.integers(2, 6))
    centres = random.uniform(-10, 10, (k, 2))
    points = centres[random.integers(0, k, 120)] + random.normal(size=(120, 2))
    return points, [k]


def particles(random):
    fields = [("mass", "f8"), ("pos", "f8", (2,)), ("vel", "f8", (2,)), ("id", "i4")]
    result = np.zeros(int(random.integers(20, 60)), np.dtype(fields, align=True))
    result["mass"] = random.uniform(0.5, 5, len(result))
    result["pos"] = random.random(result["pos"].shape)
    result["vel"] = random.normal(size=result["vel"].shape)
    result["id"] = random.permutation(len(result))
    return result, []


def image(random):
    """Discs of some colours on a ramp, with noise."""
    height, width = random.integers(32, 64, 2)
    y, x = np.mgrid[:height, :width]
    picture = np.stack([x * 3, y * 3, x + y], -1) + random.integers(0, 8, (height, width, 3))
    for _ in range(5):
        inside = (y - random.integers(height)) ** 2 + (x - random.integers(width)) ** 2 < 60
        picture[inside] = random.integers(0, 256, 3)
    return picture.clip(0, 255).astype(np.uint8), []


def pagerank(random):
    pages = int(random.integers(20, 60))
    links = (pages * random.random((4 * pages, 2)) ** [1, 3]).astype(np.int64)
    return links[links[:, 0] % 7 != 3], []  # some pages have no links


def sieve(random):
    return None, [int(random.integers(1000, 30000))]


def neighbours(random):
    classes = random.integers(0, 3, int(random.integers(60, 150)))
    classes[:4] = 2  # the largest one is among the known and among the asked
    features = random.normal(size=(len(classes), 4)) + 1.2 * classes[:, None]
    return np.column_stack((features, classes)), [int(random.integers(1, 6))]


def run_length(random):
    runs = random.integers(1, 9, int(random.integers(40, 90)))
    return np.repeat(random.integers(0, 5, len(runs)), runs), []


def cavity(random):
    return None, [int(random.integers(20, 120))]


def mandelbrot(random):
    return None, [int(random.integers(32, 100))]


def series(random):
    prices = 100 * np.exp(0.02 * random.normal(size=int(random.integers(120, 300)))).cumprod()
    prices[10:-10:17] = np.nan
    return prices, []
