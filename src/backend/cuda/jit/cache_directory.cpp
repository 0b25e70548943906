// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/cache_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "base/file_io.hpp"

namespace quarry::backend::cuda {
namespace {

constexpr std::string_view temporary_prefix = ".tmp-";
constexpr int stale_seconds = 3600;

/// A file descriptor; `close` reports errors, the destructor ignores them.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  int close() { return ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_;
};

void make_directories(const std::string& path) {
  for (auto slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0700);
  }
  ::mkdir(path.c_str(), 0700);
}

bool is_private(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
}

std::string reason_against(int descriptor, const std::string& path) {
  struct stat status;
  if (descriptor < 0) return fmt::format("{}: {}", path, std::strerror(errno));
  if (::fstat(descriptor, &status) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
  if (status.st_uid != ::geteuid()) return path + " belongs to another user";
  if (!is_private(status)) return path + " can be written to by others";
  return {};
}

/// Random, so that it is unique among processes on all hosts that share the directory.
std::string temporary_name() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", temporary_prefix, random(), random());
}

bool is_stale(const struct stat& status) {
  return ::time(nullptr) - status.st_mtim.tv_sec > stale_seconds;
}

}  // namespace

CacheDirectory::CacheDirectory(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    why_ = fmt::format("'{}' is not an absolute path", path);
    return;
  }
  make_directories(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  why_ = reason_against(descriptor_, path);
  if (!why_.empty() && descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

CacheDirectory::~CacheDirectory() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<std::string> CacheDirectory::read(const std::string& name, std::size_t limit) const {
  if (descriptor_ < 0) return std::nullopt;
  // not blocking, because it may be a pipe
  const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const Descriptor file(::openat(descriptor_, name.c_str(), flags));
  struct stat status;
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || !is_private(status)) return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > limit) return std::nullopt;
  std::string bytes(size, '\0');
  const auto moved =
      quarry::detail::read_fully(file.get(), std::as_writable_bytes(std::span(bytes)));
  if (moved.error != 0 || moved.bytes != size) return std::nullopt;
  ::futimens(file.get(), nullptr);
  return bytes;
}

int CacheDirectory::write(const std::string& name, std::string_view bytes) const {
  if (descriptor_ < 0) return EBADF;
  const std::string temporary = temporary_name();
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  Descriptor file(::openat(descriptor_, temporary.c_str(), flags, 0600));
  if (file.get() < 0) return errno;
  int error = quarry::detail::write_fully(file.get(), std::as_bytes(std::span(bytes))).error;
  if (error == 0 && ::fsync(file.get()) != 0) error = errno;
  if (file.close() != 0 && error == 0) error = errno;
  if (error == 0 && ::renameat(descriptor_, temporary.c_str(), descriptor_, name.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) remove(temporary);
  return error;
}

void CacheDirectory::remove(const std::string& name) const {
  if (descriptor_ >= 0) ::unlinkat(descriptor_, name.c_str(), 0);
}

std::vector<CacheDirectory::File> CacheDirectory::files() const {
  std::vector<File> found;
  if (descriptor_ < 0) return found;
  const int again = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto close = [](DIR* d) { ::closedir(d); };
  const std::unique_ptr<DIR, decltype(close)> list(again >= 0 ? ::fdopendir(again) : nullptr,
                                                   close);
  if (!list) return found;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    struct stat status;
    if (::fstatat(descriptor_, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    if (name.starts_with(temporary_prefix)) {
      if (is_stale(status)) remove(name);
    } else {
      found.push_back({name, status.st_size, status.st_mtim});
    }
  }
  return found;
}

}  // namespace quarry::backend::cuda
