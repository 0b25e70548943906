// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/deflate.hpp"
#include "io/npy_file.hpp"
#include "io/zip_format.hpp"

namespace quarry::zip {

/// Writes an archive as Python's zipfile does for NumPy, to a temporary file that commit() renames.
/// Throws IoError.
class ArchiveWriter {
 public:
  ArchiveWriter(std::string path, bool deflates);

  /// A new member, whose bytes are written to the sink up to the next call of another function
  /// here. Throws FormatError for a name that a reader refuses or that there is already.
  npy::Sink& add(const std::string& name);
  /// With `sync` the contents are on the disk before the old file is replaced.
  void commit(bool sync);

 private:
  /// Counts and checks what is written to the member, and packs it.
  class Body final : public npy::Sink {
   public:
    explicit Body(ArchiveWriter& archive) : archive_(archive) {}
    using Sink::write;
    void write(std::span<const std::byte> bytes) override;

   private:
    ArchiveWriter& archive_;
  };

  void finish_member();

  npy::Writer file_;
  const bool deflates_;
  Body body_;
  std::vector<Member> members_;
  std::optional<Deflater> deflater_;
  bool is_open_ = false;  ///< the last of them
};

}  // namespace quarry::zip
