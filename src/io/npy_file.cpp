// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_file.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

#include "base/file_io.hpp"

namespace quarry::npy {

void fail(const std::string& path, std::string_view doing, int error) {
  throw IoError(fmt::format("{}: {}: {}", path, doing, std::generic_category().message(error)));
}

namespace {

/// For the system the path would end there.
void require_no_nul(const std::string& path) {
  require<IoError>(path.find('\0') == path.npos, [&] {
    return fmt::format("{}: the path has a byte of zero after its {} first", path.c_str(),
                       path.find('\0'));
  });
}

std::uint64_t regular_size(const std::string& path, int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail(path, "cannot be examined", errno);
  require<IoError>(S_ISREG(status.st_mode), [&] { return path + ": not a regular file"; });
  return std::uint64_t(status.st_size);
}

/// Where a symbolic link leads; nothing if `path` is none.
std::optional<std::string> target_of(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size < 0) return std::nullopt;
  const std::string_view text(target, std::size_t(size));
  if (text.starts_with('/')) return std::string(text);
  return path.substr(0, path.rfind('/') + 1).append(text);
}

/// The target of `path`, with links followed, also to a file that does not exist yet.
std::string final_path(std::string path) {
  require_no_nul(path);
  constexpr int most_links = 40;  // as in Linux
  for (int i = 0; i < most_links; ++i) {
    std::optional<std::string> target = target_of(path);
    if (!target) return path;
    path = std::move(*target);
  }
  fail(path, "cannot be written", ELOOP);
}

int open_directory(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == path.npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "cannot be written", errno);
  return descriptor;
}

std::string name_in_directory(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.empty()) fail(path, "cannot be written", path.empty() ? ENOENT : EISDIR);
  return name;
}

/// Nothing if there is no such file. A device or a directory must not be replaced by a file.
std::optional<mode_t> mode_of_old(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(path, "cannot be written", errno);
    return std::nullopt;
  }
  require<IoError>(S_ISREG(status.st_mode), [&] { return path + ": not a regular file"; });
  return status.st_mode & 0777;
}

/// Short, whatever the name of the file is.
std::string temporary_name() {
  std::random_device random;
  return fmt::format(".quarry-{:08x}{:08x}.tmp", random(), random());
}

int create(const std::string& path, int directory, const std::string& temporary) {
  const std::optional<mode_t> mode = mode_of_old(path);
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  const int descriptor = ::openat(directory, temporary.c_str(), flags, mode.value_or(0666));
  if (descriptor < 0) fail(path, "cannot be written", errno);
  if (mode) ::fchmod(descriptor, *mode);  // undoes the umask; may be unsupported
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

/// Without blocking on a FIFO; whether it is a regular file is asked afterwards.
int open_file(const std::string& path, int flags) {
  require_no_nul(path);
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) fail(path, "cannot be opened", errno);
  return descriptor;
}

InputFile::InputFile(const std::string& path)
    : InputFile(path, std::make_shared<const File>(open_file(path, O_RDONLY))) {}

InputFile::InputFile(std::string path, std::shared_ptr<const File> file)
    : path_(std::move(path)), file_(std::move(file)), size_(regular_size(path_, descriptor())) {}

void InputFile::read(std::uint64_t at, std::span<std::byte> out) const {
  const quarry::detail::Moved moved = quarry::detail::read_fully_at(descriptor(), at, out);
  if (moved.error != 0) fail(path_, "cannot be read", moved.error);
  require<IoError>(moved.bytes == out.size(), [&] {
    return fmt::format("{}: the file became shorter: {} of {} bytes read", path_, moved.bytes,
                       out.size());
  });
}

Writer::Writer(std::string path)
    : path_(final_path(std::move(path))),
      name_(name_in_directory(path_)),
      temporary_(temporary_name()),
      directory_(open_directory(path_)),
      file_(create(path_, directory_.descriptor(), temporary_)) {}

Writer::~Writer() {
  if (!temporary_.empty()) ::unlinkat(directory_.descriptor(), temporary_.c_str(), 0);
}

void Writer::write(std::span<const std::byte> bytes) {
  const int error = quarry::detail::write_fully(file_.descriptor(), bytes).error;
  if (error != 0) fail(path_, "cannot be written", error);
  written_ += bytes.size();
}

void Writer::rewrite(std::uint64_t at, std::span<const std::byte> bytes) {
  const int error = quarry::detail::write_fully_at(file_.descriptor(), at, bytes).error;
  if (error != 0) fail(path_, "cannot be written", error);
}

void Writer::commit(bool sync) {
  const int error = file_.close(sync);
  if (error != 0) fail(path_, "cannot be written", error);
  const int directory = directory_.descriptor();
  if (::renameat(directory, temporary_.c_str(), directory, name_.c_str()) != 0) {
    fail(path_, "cannot be written", errno);
  }
  temporary_.clear();
}

}  // namespace quarry::npy
