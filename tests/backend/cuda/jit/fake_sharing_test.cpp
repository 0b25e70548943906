// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/map.hpp>
#include <quarry/kernels/reduce.hpp>

#include <algorithm>

#include "backend/cuda/fake_device.hpp"
#include "backend/cuda/jit/sharing.hpp"

namespace quarry::backend {
namespace {

using namespace kernels;
using cuda::Sharing;
using cuda::sharing_of;
using cuda::with_sharing;

TEST(fake_sharing, what_is_the_same_gets_one_number) {
  const Sharing sharing{{0, 0, 2, 2}, {0, 1, 0}};
  EXPECT_EQ(with_sharing("f<in<float, 0>, in<float, 1> >", sharing),
            "f<in<float, 0>, in<float, 0> >");
  EXPECT_EQ(with_sharing("f<q::in<q::complex<float>, 2>, q::in<q::complex<float>,3>>", sharing),
            "f<q::in<q::complex<float>, 2>, q::in<q::complex<float>,2>>");
  EXPECT_EQ(with_sharing("f<val<float, 0>, val<float, 1>, val<float, 2>, float, 3>", sharing),
            "f<val<float, 0>, val<float, 1>, val<float, 0>, float, 3>");
}

TEST(fake_sharing, other_types_and_other_names_keep_their_numbers) {
  const Sharing sharing{{0, 0, 0, 0}, {0, 0}};
  for (const char* const name :
       {"f<in<float, 0>, in<int, 1> >", "f<in<float, 0>, begin<float, 1>, my_in<float, 2> >",
        "f<in<float, 1> >", "f<val<float, 0>, val<double, 1>, interval<float, 1> >",
        "f<in<float, 0>, in<float, 7> >", "pick<float, 1, place<from_end, 1, in<int, 0> > >"}) {
    EXPECT_EQ(with_sharing(name, sharing), name);
  }
}

using A = op<multiply_op, float, in<float, 0>, val<float, 0>>;
using B = op<multiply_op, float, in<float, 1>, val<float, 1>>;
template <int I>
using number = std::integral_constant<int, I>;  ///< makes programs of a test's own
template <class Own>
using Products = map_of<op<add_op, float, A, B>, float, 2, float, float>;

/// A program of the type above, without a history.
struct OwnProgram {
  program value{.kind = family::map,
                .name = like().name,
                .outputs = 1,
                .inputs = 2,
                .scalars = 3,
                .itemsize = like().itemsize,
                .alignment = like().alignment,
                .own = sides,
                .users = like().users,
                .singles = single_access::none,
                .is_at_one_place = nullptr,
                .loops = like().loops};
  own_axes sides[3] = {};

  static const program& like() { return program_for<Products<number<0>>>::value; }
  const Sharing* of(float* a, float* b, Scalar s, Scalar t, std::int64_t stride = 4,
                    Scalar u = {{99, 99}}) {
    KernelCall call(value);
    call.shape = {8};
    const auto operand = [](float* data, std::int64_t step) {
      return Operand{reinterpret_cast<std::byte*>(data), {step}};
    };
    call.operands[0] = operand(nullptr, 4);
    call.operands[1] = operand(a, 4);
    call.operands[2] = operand(b, stride);
    const Scalar scalars[] = {s, t, u};
    std::ranges::copy(scalars, call.scalars.begin());
    return sharing_of(call);
  }
};

using Numbers = std::vector<std::size_t>;
float x[16], y[16];

TEST(fake_sharing, inputs_are_the_same_by_address_and_strides) {
  OwnProgram own;
  const Sharing* const both = own.of(x, x, {{1}}, {{2}});
  ASSERT_NE(both, nullptr);
  EXPECT_EQ(both->input, (Numbers{0, 0}));
  EXPECT_EQ(both->scalar, (Numbers{0, 1, 2}));
  EXPECT_EQ(own.of(y, y, {{3}}, {{4}}), both) << "whichever it is";
  EXPECT_EQ(OwnProgram().of(x, y, {{1}}, {{1}}), nullptr);
  EXPECT_EQ(OwnProgram().of(x, x, {{1}}, {{1}}, 8), nullptr) << "other strides";
  OwnProgram sided;
  sided.sides[2] = {0, 1};
  EXPECT_EQ(sided.of(x, x, {{1}}, {{1}}), nullptr) << "a side operand";
}

TEST(fake_sharing, what_was_not_the_same_once_never_is_again) {
  OwnProgram own;
  const Sharing* const all = own.of(x, x, {{5}}, {{5}});
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(all->scalar, (Numbers{0, 0, 2}));
  const Sharing* const inputs = own.of(x, x, {{5}}, {{6}});
  ASSERT_NE(inputs, nullptr);
  EXPECT_EQ(inputs->input, (Numbers{0, 0}));
  EXPECT_EQ(inputs->scalar, (Numbers{0, 1, 2}));
  EXPECT_EQ(own.of(x, x, {{5}}, {{5}}), inputs);
  EXPECT_EQ(own.of(x, y, {{5}}, {{5}}), nullptr);
  EXPECT_EQ(own.of(x, x, {{5}}, {{5}}), nullptr);
}

TEST(fake_sharing, scalars_are_the_same_in_both_words_and_in_every_call) {
  OwnProgram own;
  const Sharing* const parts = own.of(x, x, {{5, 1}}, {{5, 2}});
  ASSERT_NE(parts, nullptr);
  EXPECT_EQ(parts->scalar, (Numbers{0, 1, 2})) << "other imaginary parts";

  OwnProgram refined;
  EXPECT_EQ(refined.of(x, x, {{1}}, {{1}}, 4, {{2}})->scalar, (Numbers{0, 0, 2}));
  EXPECT_EQ(refined.of(x, x, {{1}}, {{2}}, 4, {{2}})->scalar, (Numbers{0, 1, 2}));
}

TEST(fake_sharing, scalars_alone_are_the_same_by_chance) {
  OwnProgram own;
  EXPECT_EQ(own.of(x, y, {{5}}, {{5}}), nullptr);
}

class FakeSharing : public OverFake {
 protected:
  /// 2 p + s q computed from arrays that may be one; the fake driver checks the kernel's name.
  void expect_products(const OnDevice<float>& p, const OnDevice<float>& q, float s) {
    const OnDevice<float> out(gpu(), std::vector<float>(8));
    const float factors[] = {2, s};
    KernelCall call(program_for<Products<number<1>>>::value);
    call.shape = {8};
    call.kept_rank = 1;
    call.kept = 8;
    call.span = 32;
    const float* const data[] = {out.data(), p.data(), q.data()};
    for (int k = 0; k < 3; ++k) {
      call.operands[k] = {reinterpret_cast<std::byte*>(const_cast<float*>(data[k])), {4}};
    }
    for (int k = 0; k < 2; ++k) {
      call.scalars[k] = {};
      std::memcpy(&call.scalars[k], &factors[k], sizeof(float));
    }
    gpu().launch(call, no_workspace(), nullptr);
    const auto a = p.values(), b = q.values(), got = out.values();
    for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(got[i], 2 * a[i] + s * b[i]);
  }
  static std::int64_t made() {
    const auto now = kernel_cache_statistics();
    return now.compiled + now.disk_hits;
  }
};

TEST_F(FakeSharing, every_call_gets_a_kernel_for_what_is_the_same_in_it) {
  const OnDevice<float> p(gpu(), {1, 2, 3, 4, 5, 6, 7, 8}), q(gpu(), {8, 7, 6, 5, 4, 3, 2, 1});
  const std::int64_t before = made();
  expect_products(p, p, 2);
  EXPECT_EQ(made(), before + 1);
  expect_products(q, q, 2);
  EXPECT_EQ(made(), before + 1);
  expect_products(p, p, 3);
  EXPECT_EQ(made(), before + 2);
  expect_products(p, q, 3);
  EXPECT_EQ(made(), before + 3);
  for (const float s : {2.f, 3.f}) {
    expect_products(p, p, s);
    expect_products(q, p, s);
  }
  EXPECT_EQ(made(), before + 3);
}

}  // namespace
}  // namespace quarry::backend
