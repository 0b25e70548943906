// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cpu/limits.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <string_view>

namespace quarry::backend::cpu_backend {
namespace {

constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

/// The beginning of a small file, in a fixed buffer: memory may be exhausted here.
class Text {
 public:
  /// Of the file whose path has these parts.
  explicit Text(std::initializer_list<std::string_view> path) {
    std::array<char, PATH_MAX> name{};
    std::size_t length = 0;
    for (const std::string_view part : path) {
      if (part.size() >= name.size() - length) return;
      length += part.copy(name.data() + length, part.size());
    }
    const int file = ::open(name.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    for (ssize_t n = 1; n > 0 && size_ < bytes_.size();) {
      n = ::read(file, bytes_.data() + size_, bytes_.size() - size_);
      if (n > 0) size_ += static_cast<std::size_t>(n);
    }
    ::close(file);
  }

  std::string_view all() const { return {bytes_.data(), size_}; }
  /// What follows `key` at the start of a line, to the line's end.
  std::string_view line(std::string_view key) const {
    for (std::string_view rest = all(); !rest.empty();) {
      const std::string_view first = rest.substr(0, rest.find('\n'));
      if (first.starts_with(key)) return first.substr(key.size());
      rest.remove_prefix(std::min(rest.size(), first.size() + 1));
    }
    return {};
  }

 private:
  std::array<char, 8192> bytes_;
  std::size_t size_ = 0;
};

/// The first number in the text; `otherwise` without one ("max").
std::size_t number(std::string_view text, std::size_t otherwise) {
  const auto at = text.find_first_of("0123456789");
  if (at == text.npos) return otherwise;
  std::size_t value = 0;
  for (const char c : text.substr(at)) {
    if (c < '0' || c > '9') break;
    value = value * 10 + static_cast<std::size_t>(c - '0');
  }
  return value;
}

/// The names of the files of one version of control groups.
struct Group {
  const char *folder, *limit, *used, *cached;
};
constexpr Group v2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};
constexpr Group v1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                   "total_inactive_file "};

void add_group(MemoryInfo& least, const char* root, const Group& group, const char* path) {
  const std::size_t limit =
      number(Text({root, group.folder, path, "/", group.limit}).all(), unlimited);
  if (limit >= unlimited / 2) return;  // none, as version 1 says it
  const Text statistics({root, group.folder, path, "/memory.stat"});
  const std::size_t cached = number(statistics.line(group.cached), 0),
                    used = number(Text({root, group.folder, path, "/", group.used}).all(), 0);
  const std::size_t taken = used - std::min(used, cached);
  least.free = std::min(least.free, limit - std::min(limit, taken));
  least.total = std::min(least.total, limit);
}

/// The group and its parents. In a container the path may be the host's: then the mounted group
/// counts.
void add_groups(MemoryInfo& least, const char* root, const Group& group, std::string_view path) {
  std::array<char, PATH_MAX> name{};
  if (path.size() >= name.size()) path = {};
  for (;;) {
    while (path.ends_with('/')) path.remove_suffix(1);
    name[path.copy(name.data(), path.size())] = '\0';
    add_group(least, root, group, name.data());
    if (path.empty()) return;
    path = path.substr(0, path.rfind('/'));
  }
}

/// Of the line "N:memory:/path", where the controllers may be several.
std::string_view path_of_v1(std::string_view groups) {
  const auto at = groups.find("memory");
  const auto begin = at == groups.npos ? at : groups.find(":/", at);
  return begin == groups.npos ? "" : groups.substr(begin + 1, groups.find('\n', begin) - begin - 1);
}

}  // namespace

MemoryInfo memory_limits(const char* root) {
  const Text memory({root, "/proc/meminfo"}), groups({root, "/proc/self/cgroup"});
  const std::size_t kib = 1024;
  MemoryInfo least{number(memory.line("MemAvailable:"), 0) * kib,
                   number(memory.line("MemTotal:"), 0) * kib};
  if (least.total == 0) return {};
  add_groups(least, root, v2, groups.line("0::"));
  add_groups(least, root, v1, path_of_v1(groups.all()));
  return least;
}

std::size_t resident_bytes() {
  const Text pages({"/proc/self/statm"});
  const auto second = pages.all().find(' ');
  if (second == std::string_view::npos) return 0;
  return number(pages.all().substr(second), 0) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace quarry::backend::cpu_backend
