// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_maps.hpp"

/// The values of plain loops, every element of the output written once, nothing else touched.
namespace quarry::test {
namespace {

template <class Out, class... In>
struct mixed_map;
template <class Out>
struct mixed_map<Out> {
  using type = map_of<call<mix<Out>, iota<i64>, val<u64, 0>>, Out, 1>;
};
template <class Out, class A>
struct mixed_map<Out, A> {
  using type = map_of<call<mix<Out>, iota<i64>, val<u64, 0>, in<A, 0>>, Out, 1, A>;
};
template <class Out, class A, class B>
struct mixed_map<Out, A, B> {
  using type = map_of<call<mix<Out>, iota<i64>, val<u64, 0>, in<A, 0>, in<B, 1>>, Out, 1, A, B>;
};

/// Two outputs, of which the second has elements of half the size.
using two_outputs =
    map_of<several<call<mix<watched<8>>, iota<i64>, val<u64, 0>, in<watched<4>, 0>>,
                   call<mix<watched<4>>, in<watched<8>, 1>, val<u64, 1>, iota<i64>>>,
           several<watched<8>, watched<4>>, 2, watched<4>, watched<8>>;
using three_outputs =
    map_of<several<in<watched<4>, 0>, call<mix<watched<4>>, in<watched<4>, 0>>, iota<i64>>,
           several<watched<4>, watched<4>, i64>, 0, watched<4>>;

/// Elements of two operands at positions that a third has, and a fourth beside them.
template <class T, class I>
using picked = pick<T, 0, place<index_mode::wrap, 0, in<I, 1>>>;
using two_sides = map_of<call<mix<watched<8>>, picked<watched<4>, i32>,
                              pick<watched<2>, 2, place<index_mode::from_end, 1, in<i32, 1>>>,
                              in<watched<8>, 3>, val<u64, 2>>,
                         watched<8>, 3, side<watched<4>>, i32, side<watched<2>, 1>, watched<8>>;

/// At positions of two axes.
using at_two_axes = pick<watched<8>, 0, place<index_mode::wrap, 0, in<i32, 1>>,
                         place<index_mode::from_end, 1, in<i8, 2>>>;
using two_own_axes = map_of<call<mix<watched<8>>, at_two_axes, iota<i64>>, watched<8>, 2,
                            side<watched<8>, 0, 2>, i32, i8>;

template <class M>
class cuda_map : public ::testing::Test {};
using Maps = ::testing::Types<
    mixed_map<watched<4>, watched<4>, watched<4>>::type, mixed_map<watched<8>>::type,
    mixed_map<watched<2>, watched<2>>::type, mixed_map<watched<1>, watched<1>, watched<1>>::type,
    mixed_map<watched<16>, watched<16>>::type, two_outputs, three_outputs,
    mixed_map<watched<12>, watched<3>>::type, two_sides, two_own_axes,
    map_of<picked<watched<4>, i8>, watched<4>, 1, side<watched<4>>, i8>,
    map_of<cast<double, in<bool, 0>>, double, 0, bool>,
    map_of<cast<complex<double>, in<complex<float>, 0>>, complex<double>, 0, complex<float>>>;
TYPED_TEST_SUITE(cuda_map, Maps);

TYPED_TEST(cuda_map, computes_what_plain_loops_compute) {
  auto seen = run_cases<TypeParam>(300);
  for (const auto& [what, count] : seen) this->RecordProperty(what, count);
  EXPECT_TRUE(has_sides<TypeParam> ? seen["flat"] == 0 : seen["flat"] > 20) << seen["flat"];
  EXPECT_GT(seen["blocks of rows"], 20);
  const bool can_go_on = Map<TypeParam>::inputs > 0 && seen["unaligned"] > 0;
  const bool is_across = can_go_on && Case<TypeParam>::Types::outputs == 1;
  EXPECT_TRUE(!is_across || (seen["across"] > 3 && seen["back across"] > 0))
      << seen["across"] << ", " << seen["back across"];
  for (const char* const what : {"gaps", "backwards"}) {
    EXPECT_TRUE(Map<TypeParam>::inputs == 0 || seen["unaligned"] == 0 || seen[what] > 0) << what;
  }
  EXPECT_GT(seen["rows of elements"] + seen["rows of vectors"], 3);
}

}  // namespace
}  // namespace quarry::test
