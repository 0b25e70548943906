// SPDX-License-Identifier: BSD-3-Clause
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <quarry/base/error.hpp>
#include <quarry/kernels/map.hpp>

#include "backend/cuda/jit/jit.hpp"
#include "backend/cuda/jit/nvrtc.hpp"
#include "backend/source_kernel.hpp"

/// What a compilation without the optimiser leaves behind in NVRTC does not reach later ones.
namespace quarry::backend {
namespace {

using namespace quarry::kernels;

class cuda_compiler_state : public testing::Test {
 protected:
  void SetUp() override {
    const char* const kind = std::getenv("QUARRY_TEST_DEVICE");
    if (kind && std::string_view(kind) == "fake") GTEST_SKIP() << "the fake compiler has no state";
    library_ = cuda::load_nvrtc().library;
    if (library_.empty()) GTEST_SKIP() << "no NVRTC on this machine";
  }

  /// A kernel that the optimiser changes much: a masked assignment of a number.
  static std::string kernel() {
    using M = map_of<guarded<in<bool, 0>, val<float, 0>>, float, 1, bool>;
    const auto source = cuda::kernel_source(program_for<M>::value, cuda::FlatMap{4});
    return cuda::compile_kernel(source, {"sm_90"}).code;
  }
  static std::string compiled_with(const std::string& option) {
    return compile_source({"extern \"C\" __global__ void halves(float* x) { x[threadIdx.x] /= 2; }",
                           {"--gpu-architecture=sm_90", option},
                           {}},
                          {})
        .code;
  }

  std::string library_;
};

TEST_F(cuda_compiler_state, is_not_changed_by_code_without_the_optimiser) {
  const std::string before = kernel();
  for (const char* const option : {"-G", " -G", "--device-debug", "\t--device-debug",
                                   "--Ofast-compile=max", "-Ofc=max", "-Xnvvm=-opt=0"}) {
    EXPECT_FALSE(compiled_with(option).empty()) << option;
    EXPECT_EQ(kernel(), before) << option;
  }
}

TEST_F(cuda_compiler_state, is_not_changed_by_such_code_that_does_not_compile) {
  const std::string before = kernel();
  EXPECT_THROW(compile_source({"nonsense", {"--gpu-architecture=sm_90", "-G"}, {}}, {}),
               CompileError);
  EXPECT_EQ(kernel(), before);
}

TEST_F(cuda_compiler_state, is_nothing_to_other_threads) {
  const std::string before = kernel();
  std::vector<std::string> found(3);
  std::vector<std::thread> threads;
  for (std::string& of_thread : found) {
    threads.emplace_back([&of_thread] {
      for (int i = 0; i < 3; ++i) of_thread = kernel();
    });
  }
  for (int i = 0; i < 3; ++i) compiled_with("-G");
  for (std::thread& thread : threads) thread.join();
  for (const std::string& of_thread : found) EXPECT_EQ(of_thread, before);
}

TEST_F(cuda_compiler_state, is_not_risked_where_another_library_has_nvrtc_open) {
  const std::string before = kernel();
  {
    const std::shared_ptr<void> other(dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose);
    ASSERT_NE(other, nullptr);
    EXPECT_THROW(compiled_with("-G"), BackendUnavailable);
    EXPECT_EQ(kernel(), before);
  }
  EXPECT_FALSE(compiled_with("-G").empty());
}

TEST_F(cuda_compiler_state, is_not_used_where_traces_cannot_be_removed) {
  const std::string before = kernel();
  std::shared_ptr<void> other;
  {
    const cuda::NvrtcUse use(true);
    other.reset(dlopen(library_.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose);
  }
  EXPECT_THROW(kernel(), BackendUnavailable);
  EXPECT_THROW(compiled_with("-G"), BackendUnavailable);
  other.reset();
  EXPECT_EQ(kernel(), before);
}

}  // namespace
}  // namespace quarry::backend
