# SPDX-License-Identifier: BSD-3-Clause
# A photograph becomes grey and sharp, its edges white. Usage: image.py IMAGE.npy
import sys

import numpy as np

image = np.load(sys.argv[1])
red, green, blue = image[..., 0], image[..., 1], image[..., 2]
saturated = (image == 0).any(-1) | (image == 255).any(-1)
print("mean of the colours", image.mean((0, 1)))
print("saturated", saturated.sum(), "darkest", image.min((0, 1)))

grey = (77.0 * red + 150.0 * green + 29.0 * blue) / 256
low = grey.min()
high = grey.max()
grey = 255 * (grey - low) / (high - low)
padded = np.pad(grey, 1, mode="edge")
blurred = np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).mean((2, 3))
sharp = np.clip(2 * grey - blurred, 0, 255)
print("contrast", grey.std(), "sharpened", sharp.std())

across = sharp[1:-1, 2:] - sharp[1:-1, :-2]
down = sharp[2:, 1:-1] - sharp[:-2, 1:-1]
edges = np.hypot(across, down) > 128
result = sharp.astype(np.uint8)
result[1:-1, 1:-1][edges] = 255
print("edges", edges.sum(), "in each row", edges.sum(1))
print("the first at", np.argwhere(edges)[0])

histogram = np.bincount(result.ravel() >> 5, minlength=8)
print("histogram", histogram, "most in", histogram.argmax())
print("darkest row", result.sum(1).argmin())
print("brightest column", result.sum(0).argmax())
print(np.fliplr(result[::8, ::8]))
