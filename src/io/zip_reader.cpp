// SPDX-License-Identifier: BSD-3-Clause
#include "io/zip_reader.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/deflate.hpp"
#include "io/python_literal.hpp"
#include "io/zip_fields.hpp"

namespace quarry::zip {

namespace {

constexpr std::uint16_t encrypted = 1 << 0, patched = 1 << 5, strongly_encrypted = 1 << 6,
                        masked = 1 << 13;   // flags
constexpr std::uint64_t best_ratio = 1032;  // of deflate: 258 bytes by two bits

std::vector<std::byte> bytes_of(const npy::InputFile& file, std::uint64_t at, std::uint64_t size) {
  std::vector<std::byte> bytes(size);
  file.read(at, bytes);
  return bytes;
}

/// Calls f and puts the file's path before the text of a FormatError.
auto named(const std::string& path, const auto& f) {
  try {
    return f();
  } catch (const FormatError& e) {
    throw FormatError(path + ": " + e.what());
  }
}

Directory find_directory(const npy::InputFile& file) {
  const std::uint64_t size = std::min<std::uint64_t>(file.size(), max_end_size);
  const End end = read_end(bytes_of(file, file.size() - size, size), file.size());
  if (!end.directory64) return end.directory;
  return read_directory64(bytes_of(file, *end.directory64, directory64_size), end);
}

void check_readable(const Member& m) {
  if ((m.flags & (encrypted | strongly_encrypted | masked)) != 0)
    refuse(fmt::format("{} is encrypted", npy::quoted(m.name)));
  if ((m.flags & patched) != 0) refuse(fmt::format("{} is a patch", npy::quoted(m.name)));
  if (m.method != stored && m.method != deflated)
    refuse(fmt::format("{} is packed by method {}; 0 (stored) and 8 (deflated) are read",
                       npy::quoted(m.name), m.method));
  const bool fits =
      m.method == stored ? m.size == m.packed_size : m.size / best_ratio <= m.packed_size;
  if (!fits)
    refuse(fmt::format("{} bytes cannot be {} of {}", m.size, m.packed_size, npy::quoted(m.name)));
}

}  // namespace

Archive::Archive(const std::string& path)
    : file_(path), directory_(named(file_.path(), [&] { return find_directory(file_); })) {
  const auto bytes = bytes_of(file_, directory_.offset, directory_.size);
  members_ = named(file_.path(), [&] { return read_members(bytes, directory_); });
  for (const Member& member : members_) offsets_.push_back(member.offset);
  offsets_.push_back(directory_.offset);
  std::ranges::sort(offsets_);
}

/// Where the data of a member begin. Throws if they do not end before the next member.
std::uint64_t Archive::data_of(const Member& member) const {
  const auto next = std::ranges::upper_bound(offsets_, member.offset);
  if (next == offsets_.end() || (next - offsets_.begin() > 1 && next[-2] == member.offset))
    refuse(fmt::format("{} shares its bytes", npy::quoted(member.name)));
  const std::uint64_t room = *next - member.offset;
  const auto require_room = [&](std::uint64_t needed) {
    if (needed > room)
      refuse(fmt::format("{} needs {} bytes at {}, and what follows begins after {}",
                         npy::quoted(member.name), needed, member.offset, room));
  };
  require_room(local_size);
  const auto header = bytes_of(file_, member.offset, local_size);
  const std::uint64_t size = local_size + local_rest(header, member);
  require_room(size);
  require_room(size + member.packed_size);
  check_local(header, bytes_of(file_, member.offset + local_size, size - local_size), member);
  return member.offset + size;
}

std::unique_ptr<npy::Content> Archive::open(std::size_t number) const {
  const Member& member = members_[number];
  const std::uint64_t begin = named(path(), [&] {
    check_readable(member);
    return data_of(member);
  });
  Packed packed{file_, begin, member, fmt::format("{}: {}", path(), npy::quoted(member.name))};
  if (member.method == stored) return std::make_unique<StoredContent>(std::move(packed));
  return std::make_unique<DeflatedContent>(std::move(packed));
}

}  // namespace quarry::zip
