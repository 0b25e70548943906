# SPDX-License-Identifier: BSD-3-Clause
# The primes below a limit, by the sieve of Eratosthenes. Usage: sieve.py LIMIT
import sys

import numpy as np

limit = int(sys.argv[1])
is_prime = np.ones(limit, bool)
is_prime[:2] = False
for i in range(2, int(limit**0.5) + 1):
    if is_prime[i]:
        is_prime[i * i :: i] = False
primes = np.flatnonzero(is_prime)
gaps = primes[1:] - primes[:-1]
widest = gaps.argmax()
print(len(primes), "primes, their sum is", primes.sum())
print(primes)
print("ending in 1, 3, 7, 9:", np.bincount(primes % 10)[[1, 3, 7, 9]])
print("the first twins:", primes[:-1][gaps == 2][:10], "of", (gaps == 2).sum())
print("the widest gap:", gaps[widest], "after", primes[widest])
print("how many have each gap:", np.bincount(gaps)[::2])
per_row = is_prime[: limit // 100 * 100].reshape(-1, 100).sum(1)
print("in each hundred: mean", per_row.mean(), "from", per_row.min(), "to", per_row.max())
print("none in", np.count_nonzero(per_row == 0), "hundreds")
