// SPDX-License-Identifier: BSD-3-Clause
#include "array/npy_file.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <utility>
#include <vector>

namespace quarry::npy {

namespace {

// Linux moves at most 2 GiB less a page at once.
constexpr std::size_t largest_transfer = std::size_t{1} << 30;

[[noreturn]] void fail(const std::string& path, std::string_view doing, int error) {
  throw IoError(fmt::format("{}: {}: {}", path, doing, std::generic_category().message(error)));
}

/// Without blocking on a FIFO; whether it is a regular file is asked afterwards.
int open_to_read(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) fail(path, "cannot be opened", errno);
  return descriptor;
}

std::uint64_t regular_size(const std::string& path, int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(path, "cannot be examined", errno);
  require<IoError>(S_ISREG(status.st_mode), [&] { return path + ": not a regular file"; });
  return std::uint64_t(status.st_size);
}

/// Fills `out` unless the file ends before. Returns how many bytes it read.
std::size_t read_up_to(const std::string& path, int descriptor, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t size = std::min(out.size() - done, largest_transfer);
    const ssize_t got = ::read(descriptor, out.data() + done, size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path, "cannot be read", errno);
    if (got == 0) break;
    done += std::size_t(got);
  }
  return done;
}

Header read_header(const std::string& path, int descriptor) {
  const std::uint64_t size = regular_size(path, descriptor);
  std::vector<std::byte> start(std::min<std::uint64_t>(size, max_header_size));
  start.resize(read_up_to(path, descriptor, start));
  try {
    Header header = parse_header(start, size);
    if (::lseek(descriptor, off_t(header.data_offset), SEEK_SET) < 0)
      fail(path, "cannot be read", errno);
    return header;
  } catch (const FormatError& e) {
    throw FormatError(path + ": " + e.what());
  } catch (const DTypeError& e) {
    throw DTypeError(path + ": " + e.what());
  }
}

/// The file that `path` is, links followed; the path itself if it is none yet.
std::string final_path(std::string path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real) return real.get();
  if (errno != ENOENT) fail(path, "cannot be written", errno);
  return path;
}

/// Nothing if there is no such file. A device or a directory must not be replaced by a file.
std::optional<mode_t> mode_of_old(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  require<IoError>(S_ISREG(status.st_mode), [&] { return path + ": not a regular file"; });
  return status.st_mode & 0777;
}

std::string temporary_beside(const std::string& path) {
  std::random_device random;
  return fmt::format("{}.{:08x}{:08x}.tmp", path, random(), random());
}

int create(const std::string& path, const std::string& temporary) {
  const std::optional<mode_t> mode = mode_of_old(path);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const int descriptor = ::open(temporary.c_str(), flags, mode.value_or(0666));
  if (descriptor < 0) fail(path, "cannot be written", errno);
  if (mode) ::fchmod(descriptor, *mode);  // what the umask took; not every file system can
  return descriptor;
}

}  // namespace

File::~File() { close(false); }

int File::close(bool sync) noexcept {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor < 0) return 0;
  const int sync_error = sync && ::fsync(descriptor) != 0 ? errno : 0;
  const int close_error = ::close(descriptor) != 0 && errno != EINTR ? errno : 0;
  return sync_error != 0 ? sync_error : close_error;
}

Reader::Reader(std::string path)
    : path_(std::move(path)),
      file_(open_to_read(path_)),
      header_(read_header(path_, file_.descriptor())) {}

void Reader::read(std::span<std::byte> out) {
  const std::size_t got = read_up_to(path_, file_.descriptor(), out);
  require<IoError>(got == out.size(), [&] {
    return fmt::format("{}: the file became shorter: {} of {} bytes read", path_, got, out.size());
  });
  normalise(header_, out);
}

Writer::Writer(std::string path)
    : path_(final_path(std::move(path))),
      temporary_(temporary_beside(path_)),
      file_(create(path_, temporary_)) {}

Writer::~Writer() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void Writer::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), largest_transfer);
    const ssize_t done = ::write(file_.descriptor(), bytes.data(), size);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(path_, "cannot be written", errno);
    bytes = bytes.subspan(std::size_t(done));
  }
}

void Writer::commit(bool sync) {
  const int error = file_.close(sync);
  if (error != 0) fail(path_, "cannot be written", error);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, "cannot be written", errno);
  temporary_.clear();
}

}  // namespace quarry::npy
