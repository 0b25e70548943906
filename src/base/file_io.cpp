// SPDX-License-Identifier: BSD-3-Clause
#include "base/file_io.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace quarry::detail {
namespace {

constexpr std::size_t largest_transfer = std::size_t{1} << 30;

/// Blocks SIGXFSZ in the calling thread, to which write() sends it, and removes a pending one that
/// a write has raised.
class NoSizeSignal {
 public:
  NoSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    was_pending_ = is_pending();
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;
  ~NoSizeSignal() {
    const timespec now{};
    if (!was_pending_ && is_pending()) ::sigtimedwait(&signal_, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  static bool is_pending() {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGXFSZ) == 1;
  }
  sigset_t signal_, before_;
  bool was_pending_;
};

/// Calls `move(done, size)`, which returns as read() and write() do, until all is moved.
Moved move_fully(std::size_t size, const auto& move) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t now = move(done, std::min(size - done, largest_transfer));
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return {done, errno};
    if (now == 0) break;
    done += static_cast<std::size_t>(now);
  }
  return {done, 0};
}

Moved write_all(std::size_t size, const auto& move) {
  const NoSizeSignal guard;
  const Moved moved = move_fully(size, move);
  const bool stopped = moved.error == 0 && moved.bytes < size;
  return {moved.bytes, stopped ? EIO : moved.error};
}

}  // namespace

Moved read_fully(int descriptor, std::span<std::byte> out) {
  return move_fully(out.size(), [&](std::size_t done, std::size_t size) {
    return ::read(descriptor, out.data() + done, size);
  });
}

Moved read_fully_at(int descriptor, std::uint64_t at, std::span<std::byte> out) {
  return move_fully(out.size(), [&](std::size_t done, std::size_t size) {
    return ::pread(descriptor, out.data() + done, size, static_cast<off_t>(at + done));
  });
}

Moved write_fully(int descriptor, std::span<const std::byte> bytes) {
  return write_all(bytes.size(), [&](std::size_t done, std::size_t size) {
    return ::write(descriptor, bytes.data() + done, size);
  });
}

Moved write_fully_at(int descriptor, std::uint64_t at, std::span<const std::byte> bytes) {
  return write_all(bytes.size(), [&](std::size_t done, std::size_t size) {
    return ::pwrite(descriptor, bytes.data() + done, size, static_cast<off_t>(at + done));
  });
}

}  // namespace quarry::detail
