// SPDX-License-Identifier: BSD-3-Clause
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <quarry/array/module.hpp>
#include <quarry/quarry.hpp>

#include "process/child.hpp"

/// Compiling in processes that use no GPU yet, and in many at once.
namespace quarry::test {
namespace {

enum Wrong { wrong_code = 3, wrong_values, hung_or_crashed };

std::string source(int k) {
  return "extern \"C\" __global__ void kernel_" + std::to_string(k) +
         "(int* a) { *a = " + std::to_string(k) + "; }";
}

/// Whether what was compiled is of this source and no other.
bool is_code_of(const std::string& code, int k) {
  const std::string name = "kernel_" + std::to_string(k);
  const auto at = code.find(name);
  return at != code.npos && (code[at + name.size()] < '0' || code[at + name.size()] > '9');
}

bool has_nvrtc() {
  try {
    compile_ptx(source(0), {.arch = "compute_90", .cache = false});
    return true;
  } catch (const BackendUnavailable&) {
    return false;
  }
}

int compile_many() {
  if (!has_nvrtc()) return std::puts("no NVRTC"), 0;
  const char* const cache = std::getenv("QUARRY_TEST_CACHE");
  setenv("QUARRY_DISABLE_CACHE", "0", 1);
  bool is_right = true;
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < 20; ++k) {
      is_right =
          is_right &&
          is_code_of(
              compile_ptx(source(k), {.arch = "compute_90", .cache_dir = cache ? cache : ""}), k);
    }
  }
  std::puts(is_right ? "right" : "wrong");
  return is_right ? 0 : wrong_code;
}

int computes() {
  return sum(full<float>({1000}, 1) + 1.f).item() == 2000 ? 0 : static_cast<int>(wrong_values);
}

/// The first use of the library is to compile, which takes no GPU: a process that is forked then
/// can use everything.
int compile_then_fork() {
  if (has_nvrtc() && !is_code_of(compile_ptx(source(7), {.arch = "compute_80"}), 7)) {
    return wrong_code;
  }
  const pid_t child = fork();
  if (child == 0) {
    if (has_nvrtc() && !is_code_of(compile_ptx(source(8), {.arch = "compute_80"}), 8)) {
      std::exit(wrong_code);
    }
    std::exit(computes());
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return hung_or_crashed;
  return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : computes();
}

int launch_a_cluster() {
  try {
    const Function idle = compile("extern \"C\" __global__ void idle() {}").function("idle");
    idle.launch({.grid = 4, .block = 32, .cluster = 2});
  } catch (const LogicError& e) {
    std::puts(e.what());
  }
  return 0;
}

/// For other tests, with a GPU that has none.
int launch_no_cluster() { return Device().is_cpu() ? 0 : launch_a_cluster(); }

}  // namespace

std::vector<Program> compile_programs() {
  return {{"CompilesMany", compile_many},
          {"CompileThenFork", compile_then_fork},
          {"LaunchesACluster", launch_no_cluster}};
}

}  // namespace quarry::test
