// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "io/npy_file.hpp"
#include "io/npy_reader.hpp"
#include "io/zip_format.hpp"

namespace quarry::zip {

/// A ZIP archive whose directory has been read. Any threads. Throws IoError for a file that cannot
/// be read, FormatError (with its path) for one that is no archive or contradicts itself.
class Archive {
 public:
  explicit Archive(const std::string& path);

  const std::string& path() const noexcept { return file_.path(); }
  const std::vector<Member>& members() const noexcept { return members_; }
  /// The bytes of members()[number], of which at most some ten thousand are read now. The archive
  /// has to live as long. Throws FormatError also for encrypted members, methods other than stored
  /// and deflated, and members that share bytes of the archive.
  std::unique_ptr<npy::Content> open(std::size_t number) const;

 private:
  std::uint64_t data_of(const Member& member) const;

  npy::InputFile file_;
  Directory directory_;
  std::vector<Member> members_;
  std::vector<std::uint64_t> offsets_;  ///< of the members and the directory, sorted
};

}  // namespace quarry::zip
