// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <quarry/runtime/annotation.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace quarry::test {

/// The profiler of the tests.
class Annotations : public testing::Test {
 protected:
  void SetUp() override {
    const char* const path = std::getenv("NVTX_INJECTION64_PATH");
    if (!path)
      GTEST_SKIP() << "ctest sets NVTX_INJECTION64_PATH where there are the headers of NVTX";
    set_annotations(true);
    ASSERT_TRUE(has_annotations());
    tool_ = ::dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(tool_, nullptr) << "not loaded: " << path;
    take_ = reinterpret_cast<const char* (*)()>(::dlsym(tool_, "quarry_nvtx_calls"));
    ASSERT_NE(take_, nullptr) << "another profiler: " << path;
  }
  void TearDown() override {
    set_annotations(false);
    if (take_) take_();
    if (tool_) ::dlclose(tool_);
  }
  /// The ranges of what `f` does: their beginnings, indented by their depth.
  template <class F>
  std::vector<std::string> ranges_of(const F& f) {
    take_();
    f();
    std::vector<std::string> ranges;
    std::string text = take_(), line;
    std::size_t depth = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      line = text.substr(at, end - at);
      at = end + 1;
      if (line == "end") {
        --depth;
      } else {
        ranges.push_back(std::string(2 * depth++, ' ') +
                         line.substr(std::string("Quarry: ").size()));
      }
    }
    EXPECT_EQ(depth, 0u) << text;
    return ranges;
  }
  static bool has(const std::vector<std::string>& ranges, const std::string& text) {
    for (const std::string& range : ranges) {
      if (range.find(text) != range.npos) return true;
    }
    ADD_FAILURE() << "no range \"" << text << "\" in " << testing::PrintToString(ranges);
    return false;
  }

 private:
  void* tool_ = nullptr;
  const char* (*take_)() = nullptr;
};

}  // namespace quarry::test
