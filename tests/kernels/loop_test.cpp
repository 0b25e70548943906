// SPDX-License-Identifier: BSD-3-Clause
// The loop that a domain chooses and the type that a functor returns, against NumPy's own tables.
#include <gtest/gtest.h>
#include <quarry/expr/domain.hpp>
#include <quarry/kernels/functor.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry {
namespace {

constexpr std::string_view codes = "tbhilBHILeEfdFD-";
static_assert(codes.size() == type_count + 1);

char code(TypeId id) { return codes[std::size_t(id)]; }

template <TypeId Id>
using Kernel = typename detail::TypesOf<Id>::kernel;

template <class T, std::size_t... I>
constexpr TypeId id_of(std::index_sequence<I...>) {
  TypeId id = TypeId::record;
  ((id = std::is_same_v<T, Kernel<TypeId(I)>> ? TypeId(I) : id), ...);
  return id;
}

using AllTypes = std::make_index_sequence<type_count>;

struct Letters {
  std::string loops, results;
  void add(TypeId loop, TypeId result) {
    loops += code(loop);
    results += code(result);
  }
};

template <class Operation, TypeId... operands>
void append(Letters& letters) {
  constexpr TypeId loop = Operation::domain::template loop<operands...>();
  if constexpr (loop == domains::no_loop) {
    letters.add(loop, loop);
  } else {
    using Result = decltype(Operation::template apply<Kernel<loop>>(Kernel<operands>{}...));
    letters.add(loop, id_of<Result>(AllTypes{}));
  }
}

template <class Operation, std::size_t... I>
Letters unary_letters(std::index_sequence<I...>) {
  Letters letters;
  (append<Operation, TypeId(I)>(letters), ...);
  return letters;
}

template <class Operation, std::size_t... I>
Letters binary_letters(std::index_sequence<I...>) {
  Letters letters;
  (append<Operation, TypeId(I / type_count), TypeId(I % type_count)>(letters), ...);
  return letters;
}

/// Takes ours where NumPy's table has no answer.
std::string answered(std::string_view numpy, std::string_view ours, char unknown) {
  std::string result(numpy);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result[i] == '.' || result[i] == unknown) result[i] = ours[i];
  }
  return result;
}

/// `a` cut into lines of one row of types each, so that a failure shows the pair.
std::vector<std::string> lines(std::string_view a) {
  std::vector<std::string> result;
  for (; !a.empty(); a.remove_prefix(type_count)) result.emplace_back(a.substr(0, type_count));
  return result;
}

template <class Operation>
void check(const Letters& ours, std::string_view loops, std::string_view results) {
  // A logical operation looks at truth values only, where NumPy has a loop for each type.
  if (!std::is_same_v<typename Operation::domain, domains::logical>) {
    EXPECT_EQ(lines(ours.loops), lines(answered(loops, ours.loops, '*'))) << Operation::name;
  }
  EXPECT_EQ(lines(ours.results), lines(answered(results, ours.results, '.'))) << Operation::name;
}

TEST(Loop, IsNumPys) {
#define UNARY_LOOPS(operation, loops, results)                                              \
  check<kernels::operation##_op>(unary_letters<kernels::operation##_op>(AllTypes{}), loops, \
                                 results);
#define BINARY_LOOPS(operation, loops, results)                                            \
  check<kernels::operation##_op>(binary_letters<kernels::operation##_op>(                  \
                                     std::make_index_sequence<type_count * type_count>{}), \
                                 loops, results);
#include "loop_table.inc"
}

TEST(Loop, OfPartsKeepsTheType) {
  const Letters real = unary_letters<kernels::real_op>(AllTypes{});
  EXPECT_EQ(real.loops, "tbhilBHILeEfdFD");
  EXPECT_EQ(real.results, "tbhilBHILeEfdfd");
  EXPECT_EQ(unary_letters<kernels::imag_op>(AllTypes{}).results, "tbhilBHILeEfdfd");
}

TEST(Loop, OfWhereIgnoresTheCondition) {
  EXPECT_EQ((domains::select::loop<TypeId::complex128, TypeId::int8, TypeId::uint8>()),
            TypeId::int16);
}

TEST(Loop, OfClipPromotesAllThree) {
  EXPECT_EQ((kernels::clip_op::domain::loop<TypeId::int8, TypeId::uint8, TypeId::float32>()),
            TypeId::float32);
  EXPECT_EQ((kernels::clip_op::domain::loop<TypeId::bool_, TypeId::bool_, TypeId::bool_>()),
            TypeId::bool_);
}

TEST(Loop, RefusesRecords) {
  EXPECT_EQ((domains::any::loop<TypeId::record, TypeId::int8>()), domains::no_loop);
}

}  // namespace
}  // namespace quarry
