// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/shape_cases.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace quarry::conformance {
namespace {

using test::Ints;

constexpr std::uint8_t refused_call = 255;

DeviceNDArray<std::int32_t> read_input(Reader& r, std::size_t number) {
  auto host = test::counted<std::int32_t>(r.dims());
  for (std::size_t i = 0; i < host.count(); ++i) host[i] += std::int32_t(1000 * number);
  const auto base = to_device(host);
  std::vector<Index> steps;
  for (const std::int64_t s : r.dims()) steps.push_back(range(_, _, s));
  return base(std::span<const Index>(steps)).transpose(test::as_shape(r.dims()));
}

ShapeCall read_call(Reader& r) {
  ShapeCall call;
  const auto inputs = r.value<std::uint8_t>();
  for (std::size_t i = 0; i < inputs; ++i) call.inputs.push_back(read_input(r, i));
  for (auto n = r.value<std::uint8_t>(); n > 0; --n) call.arguments.push_back(r.dims());
  return call;
}

std::string text(const std::string& name, const ShapeCall& call) {
  std::string result = name;
  for (const auto& a : call.inputs) result += " of " + to_string(a.shape());
  for (const auto& list : call.arguments) result += " " + to_string(test::as_shape(list));
  return result;
}

void expect_results(Reader& r, std::uint8_t count, const std::optional<ShapeResults>& got,
                    const ShapeCall& call, Views views) {
  if (got) {
    ASSERT_EQ(got->size(), count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Ints shape = r.dims();
    const bool shares = r.value<std::uint8_t>() != 0;
    const auto want = r.array<std::int32_t>(shape).list();
    if (!got) continue;
    const auto& array = (*got)[i].array;
    ASSERT_EQ(array.shape(), test::as_shape(shape));
    EXPECT_EQ(test::values(array), want);
    if (shares && views == Views::numpys) {
      EXPECT_EQ(array.buffer(), call.a().buffer()) << "NumPy gives a view";
    }
  }
}

}  // namespace

const ShapeFunction& shape_function(const std::string& name) {
  for (const auto& table : {shape_functions(), join_functions()}) {
    for (const ShapeFunction& function : table) {
      if (name == function.name) return function;
    }
  }
  throw std::runtime_error("no shape function " + name);
}

void replay_shapes(const std::string& name, ShapeResults (*function)(const ShapeCall&),
                   Views views) {
  int count = 0, refused = 0;
  for (Reader r = find("shape/" + name); !r.at_end(); ++count) {
    const ShapeCall call = read_call(r);
    SCOPED_TRACE(text(name, call));
    const auto results = r.value<std::uint8_t>();
    std::optional<ShapeResults> got;
    if (results == refused_call) {
      EXPECT_THROW(function(call), LogicError);
      ++refused;
    } else {
      EXPECT_NO_THROW(got = function(call));
      ASSERT_NO_FATAL_FAILURE(expect_results(r, results, got, call, views));
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(count, refused);
}

}  // namespace quarry::conformance
