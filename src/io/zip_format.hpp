// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The part of the ZIP format (PKWARE's APPNOTE.TXT) that .npz files are made of, on host memory.
/// Archives are not trusted: FormatError for whatever contradicts itself.
namespace quarry::zip {

inline constexpr std::uint16_t stored = 0, deflated = 8;  ///< methods

/// What the directory says of a member.
struct Member {
  std::string name;
  std::uint16_t flags = 0, method = stored;
  std::uint32_t crc = 0;
  std::uint64_t packed_size = 0;  ///< in the archive
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  ///< of its local header

  friend bool operator==(const Member&, const Member&) = default;
};

/// Where the directory is.
struct Directory {
  std::uint64_t count = 0, size = 0, offset = 0;

  friend bool operator==(const Directory&, const Directory&) = default;
};

/// As much of the end of an archive as find_directory can need.
inline constexpr std::size_t max_end_size = 20 + 22 + 0xffff;
inline constexpr std::size_t directory64_size = 56;
inline constexpr std::size_t local_size = 30;  ///< of a local header without name and extra field

/// The end of an archive of `archive_size` bytes, of which `end` has the last max_end_size, or all
/// of a smaller one.
struct End {
  Directory directory;                       ///< in a larger archive, the low bits or all ones
  std::uint64_t at = 0;                      ///< where it begins
  std::optional<std::uint64_t> directory64;  ///< where the record is that has 64 bits
};
End read_end(std::span<const std::byte> end, std::uint64_t archive_size);
/// `record` has the directory64_size bytes at *end.directory64. It must agree with `end`.
Directory read_directory64(std::span<const std::byte> record, const End& end);

/// All members. Throws also for names that occur twice, that are empty, or that lead out of a
/// folder (absolute, "..", with a backslash or a byte of zero).
std::vector<Member> read_members(std::span<const std::byte> bytes, const Directory& directory);

/// The bytes after the local_size first of a member's local header, before its data. Throws if what
/// is there is no header of that method.
std::size_t local_rest(std::span<const std::byte> header, const Member& member);
/// Whether name, sizes and checksum are those of the directory. `rest` follows the first bytes.
void check_local(std::span<const std::byte> header, std::span<const std::byte> rest,
                 const Member& member);

/// Throws FormatError for a name that read_members would not take.
void check_name(const std::string& name);

///@{
/// The bytes that Python's zipfile writes when NumPy calls it; dates are 1980-01-01. The size of a
/// local header does not depend on the numbers in it.
std::string local_header(const Member& member);
std::string directory_entry(const Member& member);
std::string directory_end(const Directory& directory);
///@}

/// Numbers beyond this are written with 64 bits, as Python does it.
inline constexpr std::uint64_t limit32 = 0x7fffffff;

}  // namespace quarry::zip
