// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <string>

/// Calls of the system about files that fail on demand. One file of a program includes this: its
/// definitions take the place of the C library's, for the library under test, too.
namespace quarry::test {

enum class FileFault {
  none,
  io_error,     ///< EIO
  no_space,     ///< ENOSPC
  interrupted,  ///< EINTR
  // of reads and writes alone; other calls are not counted:
  partial,           ///< they move one byte
  move_interrupted,  ///< EINTR before they have moved any
};

/// Whether a program is to go on with the next read or write as if nothing had happened.
constexpr bool is_no_error(FileFault fault) {
  return fault == FileFault::partial || fault == FileFault::move_interrupted;
}
/// Whether no call would ever go through.
constexpr bool must_pass(FileFault fault) {
  return fault == FileFault::interrupted || fault == FileFault::move_interrupted;
}

/// Which call of this thread fails, and how.
struct FileFaults {
  FileFault fault = FileFault::none;
  int at = 0;          ///< 1 for the next call
  bool stays = false;  ///< all further calls, too
  int hits = 0;

  bool hit(bool moves_bytes) {
    if (fault == FileFault::none || (is_no_error(fault) && !moves_bytes)) return false;
    --at;
    const bool now = at == 0 || (stays && at < 0);
    hits += now ? 1 : 0;
    return now;
  }
  int error() const {
    switch (fault) {
      case FileFault::no_space:
        return ENOSPC;
      case FileFault::interrupted:
      case FileFault::move_interrupted:
        return EINTR;
      default:
        return EIO;
    }
  }
};
inline thread_local FileFaults file_faults;

/// Faults while it lives.
class FaultyFiles {
 public:
  FaultyFiles(FileFault fault, int at, bool stays) { file_faults = {fault, at, stays, 0}; }
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;
  ~FaultyFiles() { file_faults = {}; }
  int hits() const { return file_faults.hits; }
};

/// The result of system call `number`, unless it is to fail.
template <class... A>
long faulty_call(long number, A... arguments) {
  if (file_faults.hit(false)) {
    errno = file_faults.error();
    return -1;
  }
  return ::syscall(number, arguments...);
}
/// `at` is for calls that have a place.
inline ssize_t faulty_move(long number, int descriptor, const void* data, std::size_t size,
                           off_t at = 0) {
  if (file_faults.hit(true)) {
    if (file_faults.fault == FileFault::partial) size = size < 1 ? size : 1;
    if (file_faults.fault != FileFault::partial) {
      errno = file_faults.error();
      return -1;
    }
  }
  return ::syscall(number, descriptor, data, size, at);
}

/// Runs `body(k)` with the fault at the first, second, third ... call until it is not met any more.
/// `body` makes a FaultyFiles and returns its hits.
template <class F>
int for_every_call(const F& body) {
  int k = 1;
  while (body(k) > 0) ++k;
  return k - 1;
}

}  // namespace quarry::test

extern "C" {

// What the C library declares without an exception specification, and what with one, is its own.
ssize_t read(int descriptor, void* data, size_t size) {
  return quarry::test::faulty_move(SYS_read, descriptor, data, size);
}
ssize_t write(int descriptor, const void* data, size_t size) {
  return quarry::test::faulty_move(SYS_write, descriptor, data, size);
}
ssize_t pread(int descriptor, void* data, size_t size, off_t at) {
  return quarry::test::faulty_move(SYS_pread64, descriptor, data, size, at);
}
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t at) {
  return quarry::test::faulty_move(SYS_pwrite64, descriptor, data, size, at);
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return static_cast<int>(quarry::test::faulty_call(SYS_openat, AT_FDCWD, path, flags, mode));
}
int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return static_cast<int>(quarry::test::faulty_call(SYS_openat, directory, path, flags, mode));
}
int fsync(int descriptor) {
  return static_cast<int>(quarry::test::faulty_call(SYS_fsync, descriptor));
}
int renameat(int from_directory, const char* from, int to_directory, const char* to) noexcept {
  return static_cast<int>(
      quarry::test::faulty_call(SYS_renameat, from_directory, from, to_directory, to));
}
off_t lseek(int descriptor, off_t offset, int whence) noexcept {
  return quarry::test::faulty_call(SYS_lseek, descriptor, offset, whence);
}
int fstat(int descriptor, struct stat* status) noexcept {
  return static_cast<int>(quarry::test::faulty_call(SYS_fstat, descriptor, status));
}
/// Closes always, as Linux does, and may report an error of an earlier write.
int close(int descriptor) {
  const bool fails = quarry::test::file_faults.hit(false);
  const long result = ::syscall(SYS_close, descriptor);
  if (fails) errno = quarry::test::file_faults.error();
  return fails ? -1 : static_cast<int>(result);
}
}
