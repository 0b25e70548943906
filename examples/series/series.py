# SPDX-License-Identifier: BSD-3-Clause
# Moving averages of daily prices, some of which are missing. Usage: series.py PRICES.npy
import sys

import numpy as np

prices = np.load(sys.argv[1])
gaps = np.flatnonzero(np.isnan(prices))
prices[gaps] = (prices[gaps - 1] + prices[gaps + 1]) / 2
print("filled", prices[gaps], "on days", gaps)

n = 20
windows = np.lib.stride_tricks.sliding_window_view(prices, n)
mean = windows.mean(1)
band = 2 * windows.std(1)
today = prices[n - 1 :]
outside = np.flatnonzero(np.abs(today - mean) > band)
print("moving average", mean)
print("outside its band on days", outside + n - 1)

weights = np.exp(-np.arange(n)[::-1] / 5)
smooth = (windows * weights).sum(1) / weights.sum()
above = smooth > mean
crossings = np.flatnonzero(above[1:] != above[:-1])
print("the averages cross on days", crossings + n)

returns = prices[1:] / prices[:-1] - 1
volatility = np.sqrt(252 * returns.var(ddof=1))
print("volatility", volatility, "mean return", returns.mean())
print("best day", returns.argmax() + 1, "with", returns.max())
print("worst day", returns.argmin() + 1, "with", returns.min())

weeks = prices[: len(prices) // 5 * 5].reshape(-1, 5)
table = np.column_stack((weeks[:, 0], weeks.max(1), weeks.min(1), weeks[:, -1]))
print(table[:8])
