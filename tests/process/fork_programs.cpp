// SPDX-License-Identifier: BSD-3-Clause
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include <quarry/quarry.hpp>

#include "process/child.hpp"

namespace quarry::test {
namespace {

constexpr int wrong_values = 3;

int compute() {
  const Stream s = stream();
  const auto a = full<float>({1000}, 1, {.stream = s}), b = full<float>({1000}, 1);
  return sum(a).item() == 1000 && sum(b + 1.f).item() == 2000 ? 0 : wrong_values;
}

/// The value of main() or exit() of a process that was forked; -1 if a signal ended it.
int code_of(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int fork_before_the_first_use() {
  const pid_t child = fork();
  if (child == 0) return compute();
  const int here = compute();
  return here ? here : code_of(child);
}

/// A child that writes while its parent holds an array: neither has any of the other's memory.
int fork_into_two_devices() {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) return wrong_values;
  const pid_t child = fork();
  char go = 0;
  if (child == 0) {
    if (read(pipe_ends[0], &go, 1) != 1) return wrong_values;
    return sum(full<float>({1000}, 2)).item() == 2000 ? 0 : wrong_values;
  }
  const auto a = full<float>({1000}, 1);
  default_stream().synchronize();
  if (write(pipe_ends[1], &go, 1) != 1) return wrong_values;
  const int code = code_of(child);
  return sum(a).item() == 1000 ? code : wrong_values;
}

/// Replaces the process.
[[noreturn]] void run(const char* name) {
  std::vector<std::string> command = command_of(name);
  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

int fork_and_exec() {
  if (const int code = compute()) return code;
  const Stream s = stream();
  auto a = full<float>({1000}, 1, {.stream = s});
  a += 1.f;
  const pid_t child = fork();
  if (child == 0) run("StaticArrays");
  const int code = code_of(child);
  return sum(a).item() == 2000 ? code : wrong_values;
}

}  // namespace

std::vector<Program> fork_programs() {
  return {{"ForkBeforeTheFirstUse", fork_before_the_first_use},
          {"ForkIntoTwoDevices", fork_into_two_devices},
          {"ForkAndExec", fork_and_exec}};
}

}  // namespace quarry::test
