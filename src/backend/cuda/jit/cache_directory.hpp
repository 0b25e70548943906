// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <ctime>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quarry::backend::cuda {

/// A directory that only this user can write to, of files that appear whole or not at all. Names
/// are without '/'; symbolic links, pipes and files of other users are refused. Nothing throws:
/// failures are return values.
class CacheDirectory {
 public:
  /// Creates the directory (0700) and its parents. If it cannot be used `why` has the reason and
  /// every operation fails: it is not a directory, a link, another user's, or writable for others.
  explicit CacheDirectory(const std::string& path);
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;
  ~CacheDirectory();

  const std::string& why() const { return why_; }

  /// The whole file; nothing if there is none, or it is longer than `limit` or another user's.
  /// Reading updates its time.
  std::optional<std::string> read(const std::string& name, std::size_t limit) const;
  /// Writes a temporary file, forces it to the disk and renames it. Returns an errno, 0 for
  /// success.
  int write(const std::string& name, std::string_view bytes) const;
  void remove(const std::string& name) const;

  struct File {
    std::string name;
    std::int64_t bytes;
    timespec used;
  };
  /// The finished files. Removes temporary ones that are over an hour old.
  std::vector<File> files() const;

 private:
  int descriptor_ = -1;
  std::string why_;
};

}  // namespace quarry::backend::cuda
