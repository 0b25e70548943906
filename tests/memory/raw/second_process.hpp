// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// A second process of the same test program (a fork could not use a GPU). It runs one test, which
/// takes its end of the line from first_process() and is skipped when nobody has started it.
namespace quarry::test {

/// Two pipes; messages are byte strings. Waiting for a message that does not come within a minute,
/// or from a process that has ended, throws.
class Line {
 public:
  Line(int in, int out) : in_(in), out_(out) {}
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() { ::close(in_), ::close(out_); }

  void send(std::span<const std::byte> message) const {
    const std::uint64_t size = message.size();
    write_all(&size, sizeof size);
    write_all(message.data(), message.size());
  }
  std::vector<std::byte> receive() const {
    std::uint64_t size = 0;
    read_all(&size, sizeof size);
    std::vector<std::byte> message(size);
    read_all(message.data(), message.size());
    return message;
  }
  template <class T>
  void send_values(const std::vector<T>& values) const {
    send(std::as_bytes(std::span(values)));
  }
  template <class T>
  std::vector<T> receive_values() const {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto message = receive();
    std::vector<T> values(message.size() / sizeof(T));
    std::memcpy(values.data(), message.data(), values.size() * sizeof(T));
    return values;
  }
  /// A message that says only that something has happened.
  void signal() const { send({}); }
  void wait() const { receive(); }

 private:
  void write_all(const void* from, std::size_t size) const {
    for (auto* at = static_cast<const char*>(from); size > 0;) {
      const ssize_t n = ::write(out_, at, size);
      if (n <= 0) throw std::runtime_error("the other process does not listen");
      at += n, size -= static_cast<std::size_t>(n);
    }
  }
  void read_all(void* to, std::size_t size) const {
    for (auto* at = static_cast<char*>(to); size > 0;) {
      pollfd ready{in_, POLLIN, 0};
      const ssize_t n = poll(&ready, 1, 60'000) == 1 ? ::read(in_, at, size) : 0;
      if (n <= 0) throw std::runtime_error("the other process says nothing");
      at += n, size -= static_cast<std::size_t>(n);
    }
  }

  int in_, out_;
};

/// The line to the process that has started this one, or nullptr.
inline const Line* first_process() {
  constexpr int in = 103, out = 104;
  static const Line* const line = getenv("QUARRY_TEST_LINE") ? new Line(in, out) : nullptr;
  return line;
}

class SecondProcess {
 public:
  /// Starts it; `test` is the full name of what it runs.
  explicit SecondProcess(const std::string& test) {
    std::array<int, 2> there{}, back{};
    if (pipe2(there.data(), O_CLOEXEC) != 0 || pipe2(back.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe");
    }
    line_.emplace(back[0], there[1]);
    start(test, there[0], back[1]);
    ::close(there[0]), ::close(back[1]);
  }
  /// Fails the test that has started it if the other one has failed.
  ~SecondProcess() {
    line_.reset();
    int status = 0;
    waitpid(process_, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "in the second process";
  }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  const Line* operator->() const { return &*line_; }

 private:
  void start(const std::string& test, int in, int out) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 103);
    posix_spawn_file_actions_adddup2(&files, out, 104);
    std::string filter = "--gtest_filter=" + test, brief = "--gtest_brief=1", name = "second";
    std::array<char*, 4> arguments{name.data(), filter.data(), brief.data(), nullptr};
    std::vector<std::string> settings{"QUARRY_TEST_LINE=1"};
    for (char** each = environ; *each; ++each) {
      if (std::strncmp(*each, "GTEST_", 6) != 0) settings.emplace_back(*each);
    }
    std::vector<char*> environment;
    for (std::string& each : settings) environment.push_back(each.data());
    environment.push_back(nullptr);
    const int failed = posix_spawn(&process_, "/proc/self/exe", &files, nullptr, arguments.data(),
                                   environment.data());
    posix_spawn_file_actions_destroy(&files);
    if (failed) throw std::runtime_error("no second process");
  }

  std::optional<Line> line_;
  pid_t process_ = -1;
};

}  // namespace quarry::test
