// SPDX-License-Identifier: BSD-3-Clause
// The primes below a limit, by the sieve of Eratosthenes. Usage: sieve LIMIT
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::range, qy::_;

int main(int, char** argv) {
  const std::int64_t limit = std::stoll(argv[1]);
  const auto is_prime = qy::ones<bool>({limit});
  is_prime(range(2)) = false;
  for (std::int64_t i = 2; i * i < limit; ++i) {
    if (is_prime(i).item()) is_prime(range(i * i, _, i)) = false;
  }
  const auto primes = qy::flatnonzero(is_prime);
  const auto gaps = qy::eval(primes(range(1, _)) - primes(range(_, -1)));
  const auto widest = gaps.argmax().item();
  const auto per_row = is_prime(range(limit / 100 * 100)).reshape({-1, 100}).sum(1);
  std::cout << primes.len() << " primes, their sum is " << primes.sum() << '\n'
            << primes
            << "\nending in 1, 3, 7, 9: " << qy::bincount(primes % 10)(std::vector{1, 3, 7, 9})
            << "\nthe first twins: " << primes(range(_, -1))(gaps == 2)(range(10)) << " of "
            << (gaps == 2).sum() << "\nthe widest gap: " << gaps(widest) << " after "
            << primes(widest) << "\nhow many have each gap: " << qy::bincount(gaps)(range(_, _, 2))
            << "\nin each hundred: mean " << per_row.mean() << " from " << per_row.min() << " to "
            << per_row.max() << "\nnone in " << qy::count_nonzero(per_row == 0) << " hundreds\n";
}
