// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <type_traits>

namespace quarry {
namespace {

template <class Derived, class Base>
constexpr bool is_a = std::is_base_of_v<Base, Derived>;

static_assert(is_a<Error, std::runtime_error>);
static_assert(is_a<MemoryError, Error> && is_a<LogicError, Error> && is_a<LaunchError, Error>);
static_assert(is_a<RuntimeError, Error> && is_a<CompileError, Error>);
static_assert(is_a<ShapeError, LogicError> && is_a<DTypeError, LogicError>);
static_assert(is_a<IndexError, LogicError>);
static_assert(is_a<AliasError, LogicError> && is_a<SizeOverflow, ShapeError>);
static_assert(is_a<FormatError, RuntimeError> && is_a<IoError, RuntimeError>);
static_assert(is_a<BackendUnavailable, RuntimeError> && is_a<DeviceLost, RuntimeError>);
static_assert(is_a<KernelFault, LaunchError> && is_a<KernelFault, DeviceLost>);
static_assert(is_a<KernelFault, Error> && !is_a<DeviceLost, LaunchError>);
static_assert(!is_a<CompileError, RuntimeError> && !is_a<MemoryError, RuntimeError>);
static_assert(std::is_nothrow_copy_constructible_v<ShapeError>);

TEST(error, require_builds_its_message_only_on_failure) {
  int built = 0;
  const auto message = [&] {
    ++built;
    return std::string("got 3");
  };
  require<ShapeError>(true, message);
  EXPECT_EQ(built, 0);
  try {
    require<ShapeError>(false, message);
    FAIL() << "did not throw";
  } catch (const ShapeError& e) {
    EXPECT_STREQ(e.what(), "got 3");
  }
  EXPECT_EQ(built, 1);
  EXPECT_THROW(require<IndexError>(false, "no such index"), IndexError);
}

TEST(error, compile_error_carries_what_the_compiler_said) {
  const CompileError error("no kernel", "int f();", "line 1: no", "-x -y");
  EXPECT_STREQ(error.what(), "no kernel\nline 1: no");
  EXPECT_EQ(error.message(), "no kernel");
  EXPECT_EQ(error.source(), "int f();");
  EXPECT_EQ(error.log(), "line 1: no");
  EXPECT_EQ(error.options(), "-x -y");
  EXPECT_STREQ(CompileError("no kernel", "", "", "").what(), "no kernel");
}

}  // namespace
}  // namespace quarry
