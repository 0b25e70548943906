// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "array/model.hpp"

/// Copies between an array and host memory that holds elements of the array itself.
namespace quarry {
namespace {

using test::Ints;
using test::Random;
using test::Seen;

/// Host memory with any strides, in elements.
struct Strided {
  int* first;
  Ints extents, steps;
  int* data() { return first; }
  const int* data() const { return first; }
  const Ints& shape() const { return extents; }
  const Ints& strides() const { return steps; }
};

/// A random view of a dense array, and the same elements as the host sees them.
struct BothSides {
  Seen<int> seen;
  Strided host;
};

BothSides random_view(Random& random, const MappedNDArray<int>& base, const Ints& shape,
                      const Ints& extents) {
  Seen<int> seen{base, test::whole(extents)};
  if (random.coin()) seen = random.shuffle(seen);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    seen = random.cut(seen, d, random.exactly(shape[d], seen.model.shape[d]));
  }
  Strided host{base.host_pointer() + (seen.model.at.empty() ? 0 : seen.model.at[0]), shape, {}};
  for (const std::int64_t s : seen.array.strides()) host.steps.push_back(s / 4);
  return {seen, host};
}

/// The memory after the elements of `from` have been copied to `to` through a temporary.
std::vector<int> expected(const std::vector<int>& before, const test::Model& to,
                          const test::Model& from) {
  std::vector<int> after = before;
  for (std::size_t k = 0; k < to.at.size(); ++k) {
    after[static_cast<std::size_t>(to.at[k])] = before[static_cast<std::size_t>(from.at[k])];
  }
  return after;
}

template <class Copy>
void check(unsigned seed, const Copy& copy) {
  Random random(seed);
  const Ints extents{7, 7};
  const auto base = mapped_array<int>({7, 7});
  for (int round = 0; round < (test::kind_is_slow() ? 300 : 3000); ++round) {
    std::iota(base.begin(), base.end(), 0);
    const std::vector<int> before(base.begin(), base.end());
    const Ints shape = random.shape(2, 6);
    BothSides to = random_view(random, base, shape, extents);
    const BothSides from = random_view(random, base, shape, extents);
    copy(to, from);
    synchronize();
    ASSERT_EQ(std::vector<int>(base.begin(), base.end()),
              expected(before, to.seen.model, from.seen.model))
        << "round " << round;
  }
}

TEST(OwnMemory, UploadsAreAsIfThroughATemporary) {
  check(1, [](BothSides& to, const BothSides& from) { to.seen.array.copy_to_device(from.host); });
}

TEST(OwnMemory, DownloadsAreAsIfThroughATemporary) {
  check(2, [](BothSides& to, const BothSides& from) { from.seen.array.copy_to_host(to.host); });
}

TEST(OwnMemory, QueuedCopiesToo) {
  const Stream s = stream();
  check(3, [&](BothSides& to, const BothSides& from) {
    to.seen.array.copy_to_device(from.host, s);
    s.synchronize();
  });
  check(4, [&](BothSides& to, const BothSides& from) {
    from.seen.array.copy_to_host(to.host, s);
    s.synchronize();
  });
}

}  // namespace
}  // namespace quarry
