// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/type_tree.hpp"

#include <gtest/gtest.h>

namespace quarry::kernels {
namespace {

TEST(TypeTree, TakesNamesApart) {
  const auto tree = parse_type("quarry::kernels::op<a::add_op, long unsigned int, in<float, -1> >");
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->name, "op");
  ASSERT_EQ(tree->arguments.size(), 3u);
  EXPECT_EQ(tree->arguments[0].name, "add_op");
  EXPECT_EQ(element_type(tree->arguments[1].text), TypeId::uint64);
  EXPECT_EQ(tree->arguments[2].text, "in<float, -1>");
  EXPECT_EQ(tree->arguments[2].arguments[1].text, "-1");
  EXPECT_TRUE(parse_type("several<>"));
}

TEST(TypeTree, RefusesWhatIsNoName) {
  for (const char* text : {"", "a<", "a<b", "a<b,", "a<b>>", "a<b>c", "a<, b>", "call<f()::g, x>",
                           "a<(lambda at x.cpp:1)>", "float*"}) {
    EXPECT_FALSE(parse_type(text)) << text;
  }
}

}  // namespace
}  // namespace quarry::kernels
