# SPDX-License-Identifier: BSD-3-Clause
# Classes by the vote of the nearest neighbours. Usage: neighbours.py SAMPLES.npy NEIGHBOURS
# A row of SAMPLES has the features and the class; every second one is known.
import sys

import numpy as np

samples = np.load(sys.argv[1])
k = int(sys.argv[2])
features = samples[:, :-1]
features = (features - features.mean(0)) / features.std(0)
labels = samples[:, -1].astype(int)
classes = labels.max() + 1
known, asked = slice(0, None, 2), slice(1, None, 2)
truth = labels[asked]
distances = np.abs(features[asked, None] - features[known]).sum(-1)

every = np.arange(len(truth))
votes = np.zeros((len(truth), classes), int)
for _ in range(k):
    nearest = distances.argmin(1)
    votes[every, labels[known][nearest]] += 1
    distances[every, nearest] = np.inf
guess = votes.argmax(1)
wrong = guess != truth

confusion = np.zeros((classes, classes), int)
np.add.at(confusion, (truth, guess), 1)
sure = votes.max(1) == k
print("known of each class", np.bincount(labels[known]))
print("wrong", np.flatnonzero(wrong), "that is", wrong.mean())
print("guessed", guess[wrong], "instead of", truth[wrong])
print("unanimous", sure.mean(), "and wrong", (sure & wrong).sum())
print(confusion)
print("found of each class", confusion.diagonal() / confusion.sum(1))
