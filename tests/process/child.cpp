// SPDX-License-Identifier: BSD-3-Clause
#include "process/child.hpp"

#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "temporary_folder.hpp"

namespace quarry::test {
namespace {

constexpr auto patience = std::chrono::seconds(60), patience_with_reports = std::chrono::seconds(5);

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// The environment of this process without GoogleTest's settings, and with these.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> result;
  for (char** each = environ; *each; ++each) {
    const std::string text = *each;
    if (!text.starts_with("GTEST_") && !settings.contains(text.substr(0, text.find('=')))) {
      result.push_back(text);
    }
  }
  for (const auto& [name, value] : settings) result.push_back(name + "=" + value);
  return result;
}

/// A child in a process group of its own, whose output comes through a pipe.
class Child {
 public:
  Child(std::vector<std::string> command, std::vector<std::string> environment) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    output_ = ends[0];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    for (const int to : {1, 2}) posix_spawn_file_actions_adddup2(&files, ends[1], to);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const int failed = posix_spawn(&process_, command[0].c_str(), &files, &attributes,
                                   pointers(command).data(), pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (failed) throw std::runtime_error("cannot run " + command[0]);
  }
  ~Child() { ::close(output_); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Reads to the end of the output, which ends with the last process of the group. Those that do
  /// not end are asked where they are.
  Outcome wait() {
    Outcome outcome;
    outcome.ending.timed_out = !read_all(outcome.output, patience);
    if (outcome.ending.timed_out) {
      kill(-process_, SIGQUIT);
      read_all(outcome.output, patience_with_reports);
      kill(-process_, SIGKILL);
    }
    int status = 0;
    while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status)) outcome.ending.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.ending.signal = WTERMSIG(status);
    return outcome;
  }

 private:
  bool read_all(std::string& text, std::chrono::seconds most) const {
    const auto end = std::chrono::steady_clock::now() + most;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd ready{output_, POLLIN, 0};
      if (left.count() <= 0) return false;
      if (poll(&ready, 1, static_cast<int>(left.count())) != 1) continue;
      std::array<char, 4096> piece{};
      const ssize_t n = read(output_, piece.data(), piece.size());
      if (n == 0) return true;
      if (n > 0) text.append(piece.data(), static_cast<std::size_t>(n));
    }
  }

  pid_t process_ = -1;
  int output_ = -1;
};

/// The stack of the thread that has run from the beginning.
void report_and_exit(int) {
  if (gettid() != getpid()) {
    tgkill(getpid(), getpid(), SIGQUIT);
    return;
  }
  report_stack("does not end");
  _exit(128 + SIGQUIT);
}

}  // namespace

void report_stack(const char* what) {
  std::array<char, 100> line{};
  const int length = std::snprintf(line.data(), line.size(), "process %d %s:\n", getpid(), what);
  [[maybe_unused]] const ssize_t written = write(2, line.data(), static_cast<std::size_t>(length));
  std::array<void*, 64> frames{};
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), frames.size()), 2);
}

void report_stack_on_quit() {
  std::array<void*, 1> frames{};
  backtrace(frames.data(), frames.size());  // the first call loads a library
  std::signal(SIGQUIT, report_and_exit);
}

std::string to_string(const Ending& ending) {
  if (ending.timed_out) return "no end within a minute";
  if (ending.signal) return std::string("ended by ") + strsignal(ending.signal);
  return "exit code " + std::to_string(ending.code);
}

std::vector<Program> all_programs() {
  std::vector<Program> all = exit_programs();
  for (const auto& more :
       {compile_programs(), context_programs(), environment_programs(), fork_programs(),
        fork_use_programs(), lost_programs(), thread_programs(), upload_programs()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

Outcome run_command(const std::vector<std::string>& command,
                    const std::map<std::string, std::string>& settings) {
  return Child(command, environment_with(settings)).wait();
}

std::vector<std::string> command_of(const char* name) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(), "--run", name};
}

Outcome run_child(const Program& program) {
  const TemporaryFolder folder;  // the child may not live to remove its files
  return run_command(
      command_of(program.name),
      {{"TMPDIR", folder.path()}, {"QUARRY_FAKE_BACKGROUND", program.in_background ? "1" : "0"}});
}

}  // namespace quarry::test
