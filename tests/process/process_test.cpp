// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "process/child.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <unistd.h>

/// A forked process has the blocks of threads that it has not: only the one that was started can
/// tell what is lost.
static const pid_t started = getpid();
extern "C" int __lsan_is_turned_off() { return getpid() != started; }
#endif

/// Programs that end in every way that a program can end: with the code or the signal that their
/// author wants, and not never. Sanitizers change the code when they find something.
namespace quarry::test {
namespace {

class Process : public testing::TestWithParam<Program> {};

TEST_P(Process, EndsAsItShould) {
  const Outcome outcome = run_child(GetParam());
  EXPECT_EQ(to_string(outcome.ending), to_string(GetParam().expected)) << outcome.output;
}

INSTANTIATE_TEST_SUITE_P(All, Process, testing::ValuesIn(all_programs()),
                         [](const auto& info) { return std::string(info.param.name); });

int run_program(const char* name) {
  report_stack_on_quit();
  for (const Program& program : all_programs()) {
    if (std::strcmp(program.name, name) == 0) return program.run();
  }
  std::fprintf(stderr, "there is no program %s\n", name);
  return 2;
}

}  // namespace
}  // namespace quarry::test

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--run") == 0) return quarry::test::run_program(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
