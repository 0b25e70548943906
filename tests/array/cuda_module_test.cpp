// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <quarry/quarry.hpp>

#include "array/model.hpp"
#include "array/source_kernels.hpp"
#include "fake_driver/fake_driver.hpp"
#include "message_of.hpp"

namespace quarry {
namespace {

using test::counted;
using test::HostLaunch;
using test::Line;
using test::message_of;
using test::source;
using test::SourceKernels;
using test::times;
using test::values;

TEST_F(SourceKernels, have_variables) {
  const Module mod = module();
  const auto weights = mod.global<float>("weights");
  EXPECT_EQ(weights.shape(), Shape{4});
  EXPECT_EQ(values(weights), std::vector<float>(4, 0));
  weights.copy_to_device(std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(values(mod.global<float>("weights") * 2.f), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(mod.get_global("weights").second, 16u);
  EXPECT_EQ(mod.get_global("weights").first.get(), weights.device_pointer());
  mod.global<int>("counter").fill(5);
  EXPECT_EQ(mod.global<int>("counter").item(), 5);
  EXPECT_NE(message_of<LogicError>([&] {
              mod.global<int>("wights");
            }).find("the module has no variable \"wights\""),
            std::string::npos);
  EXPECT_EQ(message_of<LogicError>([&] { mod.global<Line>("counter"); }),
            "the variable counter has 4 bytes, which are no elements of 16");
  if (test::kind() == test::Kind::fake) return;  // whose kernels see no variables
  const auto a = to_device(counted(6));
  mod.function("weigh").launch({.block = 32}, a, 6);
  EXPECT_EQ(values(a), (std::vector<float>{1, 4, 9, 16, 5, 12}));
  EXPECT_EQ(mod.global<int>("counter").item(), 11);
}

TEST_F(SourceKernels, keep_the_module_of_a_variable) {
  const auto weights = module().global<float>("weights");
  const Function twice = module().function("twice");
  weights.fill(3);
  twice.launch({.block = 4}, weights);
  EXPECT_EQ(values(weights), std::vector<float>(4, 6));
}

TEST_F(SourceKernels, are_found_by_name_expressions) {
  const Module mod = module();
  const auto a = to_device(counted(8));
  mod.function("scale<float>").launch({.block = 8}, a, 3.f);
  EXPECT_EQ(values(a), times(counted(8), 3));
  EXPECT_NE(message_of<LogicError>([&] {
              mod.function("scale<int>");
            }).find("the module has no kernel \"scale<int>\""),
            std::string::npos);
}

TEST_F(SourceKernels, are_loaded_from_images_and_files) {
  const auto [major, minor] = Device().compute_capability();
  const std::string arch = std::to_string(10 * major + minor);
  int told = 0;
  const ModuleOptions options{
      .options = {{JitOption::max_registers, 32}},
      .message_handler = [&](bool succeeded, const std::string&, const std::string& error) {
        EXPECT_TRUE(succeeded) << error;
        ++told;
      }};
  const auto folder = std::filesystem::path(testing::TempDir());
  const std::string name = folder / ("quarry_module_" + std::to_string(::getpid()));
  for (const std::string& image : {compile_cubin(source, {.arch = "sm_" + arch}),
                                   compile_ptx(source, {.arch = "compute_" + arch})}) {
    std::ofstream(name, std::ios::binary) << image;
    for (const Module& mod : {module_from_buffer(image, options), module_from_file(name)}) {
      const auto a = to_device(counted(16));
      mod.function("twice").launch({.block = 16}, a);
      EXPECT_EQ(values(a), times(counted(16), 2));
    }
  }
  EXPECT_EQ(told, 2);
  std::filesystem::remove(name);
  EXPECT_THROW(module_from_file(name), RuntimeError);
}

TEST_F(SourceKernels, of_images_that_the_driver_refuses_are_compile_errors) {
  std::string error;
  const ModuleOptions options{
      .message_handler = [&](bool succeeded, const std::string&, const std::string& text) {
        EXPECT_FALSE(succeeded);
        error = text;
      }};
  try {
    module_from_buffer(".version 8.0\n.target sm_80\n.entry broken {", options);
    FAIL() << "it was loaded";
  } catch (const CompileError& e) {
    EXPECT_NE(e.message().find("the driver refuses the module: CUDA_ERROR_"), std::string::npos);
    EXPECT_EQ(e.log(), error);
    EXPECT_FALSE(error.empty());
  }
}

TEST_F(SourceKernels, are_compiled_once_unless_they_include_files) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counted by the fake compiler";
  if (kernel_cache_info().path.empty()) GTEST_SKIP() << "the disk cache is disabled";
  const auto compilations = [](const std::string& text, const CompileOptions& options = {}) {
    const auto before = fake::statistics().compilations;
    compile(text, options);
    return fake::statistics().compilations - before;
  };
  const std::string own = std::string(source) + "// " + std::to_string(::getpid());
  EXPECT_EQ(compilations(own), 1);
  EXPECT_EQ(compilations(own), 0);
  EXPECT_EQ(compilations(own, {.names = {"scale<float>"}}), 1);
  EXPECT_EQ(compilations(own, {.names = {"scale<float>"}}), 0);
  EXPECT_EQ(compilations(own, {.options = {"-DN=1"}}), 1);
  EXPECT_EQ(compilations(own, {.cache = false}), 1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(compilations("// #  include <x>\n" + own), 1);
    EXPECT_EQ(compilations(own, {.options = {"-DOF_AN_include=1"}}), 1);
  }
}

TEST_F(SourceKernels, are_linked_from_several_sources) {
  const std::string scaled = R"(extern "C" __device__ float scaled(float x) { return 3 * x; })";
  const std::string uses = R"(
    extern "C" __device__ float scaled(float);
    template <class T> __global__ void scale_by(T* a) {
      a[threadIdx.x] = scaled(a[threadIdx.x]);
    })";
  if (test::kind() == test::Kind::fake) {
    fake::set_host_kernel("scale_by<float>", {{8}, [](const HostLaunch& launch) {
                                                for (float& x : launch.memory<float>(
                                                         0, std::size_t(launch.threads()))) {
                                                  x *= 3;
                                                }
                                              }});
  }
  for (const bool lto : {false, true}) {
    Linker linker({.lto = lto});
    try {
      linker.add_cu(scaled).add_cu(uses, {.names = {"scale_by<float>"}});
      const Module mod = module_from_linker(linker);
      const auto a = to_device(counted(16));
      mod.function("scale_by<float>").launch({.block = 16}, a);
      EXPECT_EQ(values(a), times(counted(16), 3)) << lto;
    } catch (const BackendUnavailable& e) {
      GTEST_SKIP() << e.what();
    }
  }
}

TEST_F(SourceKernels, are_linked_with_what_is_no_code_never) {
  const auto link = [](LinkKind kind, const std::string& bytes) {
    Linker linker;
    linker.add_cu(source).add_data(kind, bytes, "junk.bin");
    module_from_linker(linker);
  };
  try {
    link(LinkKind::ptx, "nonsense");
    FAIL() << "it was linked";
  } catch (const BackendUnavailable& e) {
    GTEST_SKIP() << e.what();
  } catch (const CompileError& e) {
    EXPECT_NE(e.message().find("junk.bin"), std::string::npos) << e.message();
    EXPECT_FALSE(e.log().empty());
    EXPECT_EQ(e.options().find("-arch=sm_"), 0u) << e.options();
  }
  EXPECT_THROW(link(LinkKind::object, compile_ptx(source)), CompileError);
}

TEST_F(SourceKernels, tell_how_they_were_loaded) {
  const std::string ptx = compile_ptx_for_current_device(source);
  const Module plain = module_from_buffer(ptx);
  EXPECT_FALSE(plain.jit_report().wall_time);
  EXPECT_FALSE(plain.jit_report().threads_per_block);
  const Module told = module_from_buffer(
      ptx, {.options = {{JitOption::wall_time, 0},
                        {JitOption::threads_per_block, 100},
                        {JitOption::optimization_level, 3},
                        {JitOption::fallback_strategy, JitFallback::prefer_ptx}}});
  ASSERT_TRUE(told.jit_report().wall_time);
  EXPECT_GE(*told.jit_report().wall_time, 0);
  ASSERT_TRUE(told.jit_report().threads_per_block);
  EXPECT_GE(*told.jit_report().threads_per_block, 100u);
}

TEST_F(SourceKernels, leave_their_source_where_it_is_asked_for) {
  EXPECT_EQ(module().kept(), "");
  const auto folder =
      std::filesystem::path(testing::TempDir()) / ("quarry_kept_" + std::to_string(::getpid()));
  const SourceModule mod("__global__ void f() {}", {.keep_dir = folder});
  EXPECT_EQ(mod.kept(), folder);
  EXPECT_TRUE(std::filesystem::exists(folder / "source.cu"));
  EXPECT_TRUE(std::filesystem::exists(folder / "source.cubin") ||
              std::filesystem::exists(folder / "source.ptx"));
  std::filesystem::remove_all(folder);
}

TEST_F(SourceKernels, in_the_cache_that_the_driver_refuses_are_compiled_again) {
  if (test::kind() != test::Kind::fake) GTEST_SKIP() << "counted by the fake compiler";
  if (kernel_cache_info().path.empty()) GTEST_SKIP() << "the disk cache is disabled";
  const std::string own = std::string(source) + "// of this test " + std::to_string(::getpid());
  const CompileOptions wrong{.arch = "sm_80"};
  compile_cubin(own, wrong);
  // machine code for another GPU stands for a file that is whole and of no use
  const auto before = fake::statistics().compilations;
  EXPECT_THROW(compile(own, wrong), CompileError);
  EXPECT_EQ(fake::statistics().compilations - before, 1);
  CompileOptions uncached = wrong;
  uncached.cache = false;
  EXPECT_THROW(compile(own, uncached), CompileError);
  EXPECT_EQ(fake::statistics().compilations - before, 2);
}

TEST_F(SourceKernels, keep_the_device_from_a_reset) {
  const Module mod = module();
  EXPECT_NE(message_of<LogicError>([] { Device().reset(); }).find("1 module"), std::string::npos);
}

}  // namespace
}  // namespace quarry
