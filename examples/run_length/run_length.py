# SPDX-License-Identifier: BSD-3-Clause
# Run lengths: packs values, unpacks them, and says what it saves.
# Usage: run_length.py VALUES.npy
import sys

import numpy as np

values = np.load(sys.argv[1])
changes = values[1:] != values[:-1]
ends = np.append(np.flatnonzero(changes) + 1, len(values))
starts = np.insert(ends[:-1], 0, 0)
lengths = ends - starts
runs = values[starts]
unpacked = np.repeat(runs, lengths)
assert np.array_equal(unpacked, values)
longest = lengths.argmax()
total = np.zeros(values.max() + 1, int)
np.add.at(total, runs, lengths)
packed = np.column_stack((runs, lengths)).ravel()
print(len(values), "values in", len(runs), "runs")
print("runs", runs, "lengths", lengths)
print("the longest:", lengths[longest], "times", runs[longest], "from", starts[longest])
print("of length 1, 2, ...:", np.bincount(lengths)[1:])
print("how often each value stands:", total)
print("saved", 1 - len(packed) / len(values))
print(packed[:16].reshape(2, 8))
