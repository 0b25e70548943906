// SPDX-License-Identifier: BSD-3-Clause
// Run lengths: packs values, unpacks them, and says what it saves.
// Usage: run_length VALUES.npy
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <iostream>

namespace qy = quarry;
using qy::range, qy::_;

int main(int, char** argv) {
  const auto values = qy::to_device(qy::load_npy<std::int64_t>(argv[1]));
  const auto changes = values(range(1, _)) != values(range(_, -1));
  const auto ends = qy::append(qy::flatnonzero(changes) + 1, qy::array(values.len()));
  const auto starts = qy::insert(ends(range(_, -1)), 0, 0);
  const auto lengths = qy::eval(ends - starts), runs = qy::eval(values(starts));
  const auto unpacked = qy::repeat(runs, lengths);
  if (!qy::array_equal(unpacked, values)) return 1;
  const auto longest = lengths.argmax().item();
  const auto total = qy::zeros<std::int64_t>({values.max().item() + 1});
  qy::add_at(total(runs), lengths);
  const auto packed = qy::column_stack({runs, lengths}).ravel();
  std::cout << values.len() << " values in " << runs.len() << " runs\nruns " << runs << " lengths "
            << lengths << "\nthe longest: " << lengths(longest) << " times " << runs(longest)
            << " from " << starts(longest)
            << "\nof length 1, 2, ...: " << qy::bincount(lengths)(range(1, _))
            << "\nhow often each value stands: " << total << "\nsaved "
            << 1 - double(packed.len()) / double(values.len()) << '\n'
            << packed(range(16)).reshape({2, 8}) << '\n';
}
