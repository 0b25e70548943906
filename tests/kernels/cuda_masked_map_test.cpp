// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_maps.hpp"

/// Maps that store the elements for which a condition is true: no other element changes, none is
/// stored twice, and nothing beside the operand is read or written.
namespace quarry::test {
namespace {

/// True for a share of the elements that the scalar decides.
using chosen = op<less_op, u8, in<u8, 0>, val<u8, 0>>;
template <class T>
using set_to_one_value = map_of<guarded<chosen, call<mix<T>, val<u64, 1>>>, T, 2, u8>;
/// The values may be the elements themselves.
template <class T>
using set_to_values = map_of<guarded<chosen, call<mix<T>, in<T, 1>, iota<i64>>>, T, 1, u8, T>;

template <class M>
class cuda_masked_map : public ::testing::Test {};
using Maps = ::testing::Types<set_to_one_value<watched<1>>, set_to_one_value<watched<2>>,
                              set_to_one_value<watched<4>>, set_to_one_value<watched<16>>,
                              set_to_values<watched<2>>, set_to_values<watched<4>>,
                              set_to_values<watched<8>>, set_to_values<watched<12>>>;
TYPED_TEST_SUITE(cuda_masked_map, Maps);

TYPED_TEST(cuda_masked_map, stores_the_chosen_elements_alone) {
  auto seen = run_cases<TypeParam>(250);
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  EXPECT_GT(seen["flat"], 20);
  EXPECT_GT(seen["strided"], 20);
  if (Case<TypeParam>::Types::size_of(0) > 8) return;  // an element is a vector
  EXPECT_GT(seen["vectors"], 20);
  EXPECT_GT(seen["unaligned"] + seen["across"], 20);
}

}  // namespace
}  // namespace quarry::test
