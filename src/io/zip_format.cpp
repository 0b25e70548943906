// SPDX-License-Identifier: BSD-3-Clause
#include "io/zip_format.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "io/python_literal.hpp"
#include "io/zip_fields.hpp"

namespace quarry::zip {

namespace {

constexpr std::uint32_t local_signature = 0x04034b50, entry_signature = 0x02014b50,
                        end_signature = 0x06054b50, end64_signature = 0x06064b50,
                        locator_signature = 0x07064b50;
constexpr std::size_t end_size = 22, locator_size = 20;
constexpr std::uint32_t all32 = 0xffffffff;
constexpr std::uint16_t all16 = 0xffff, extra64 = 1;
constexpr std::uint16_t sizes_follow = 1 << 3;  // a flag
// of what is written
constexpr std::uint16_t version = 45, made_by = 3 << 8 | version, date = 1 << 5 | 1;
constexpr std::uint32_t mode = 0600;

using npy::quoted;

std::uint32_t signature_at(std::span<const std::byte> bytes, std::size_t at) {
  return Fields(bytes.subspan(at), "a signature").u32();
}

/// The numbers of an extra field for those of the header that are all ones, in this order.
void read_extra64(Fields extra, const std::string& name, std::initializer_list<std::uint64_t*> to) {
  const bool needed =
      std::ranges::any_of(to, [](const std::uint64_t* number) { return *number == all32; });
  bool found = false;
  while (extra.left() > 0) {
    const std::uint16_t id = extra.u16();
    Fields field(extra.take(extra.u16()), "an extra field");
    if (id != extra64) continue;
    if (found) refuse(fmt::format("{} has two extra fields of sizes", quoted(name)));
    found = true;
    for (std::uint64_t* const number : to) {
      if (*number == all32) *number = field.u64();
    }
  }
  if (needed && !found) refuse(fmt::format("{} has no extra field of sizes", quoted(name)));
}

Member read_member(Fields& in) {
  if (in.u32() != entry_signature) refuse("no entry of the directory where one should be");
  in.skip(4);  // versions
  Member member;
  member.flags = in.u16();
  member.method = in.u16();
  in.skip(4);  // time
  member.crc = in.u32();
  member.packed_size = in.u32();
  member.size = in.u32();
  const std::uint16_t name = in.u16(), extra = in.u16(), comment = in.u16();
  const std::uint16_t disk = in.u16();
  in.skip(6);  // attributes
  member.offset = in.u32();
  member.name = in.text(name);
  if (disk != 0 && disk != all16)
    refuse(fmt::format("{} is on disk {}", quoted(member.name), disk));
  read_extra64(Fields(in.take(extra), "an extra field"), member.name,
               {&member.size, &member.packed_size, &member.offset});
  in.skip(comment);
  return member;
}

void check_unique(const std::vector<Member>& members) {
  std::vector<std::string_view> names;
  names.reserve(members.size());
  for (const Member& member : members) names.push_back(member.name);
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) refuse(fmt::format("two members with the name {}", quoted(*twice)));
}

}  // namespace

End read_end(std::span<const std::byte> end, std::uint64_t archive_size) {
  if (end.size() < end_size) refuse(fmt::format("{} bytes are no archive", archive_size));
  for (std::size_t at = end.size() - end_size + 1; at-- > 0;) {
    if (end.size() - at - end_size > all16) break;
    if (signature_at(end, at) != end_signature) continue;
    Fields in(end.subspan(at + 4), "the end");
    const std::uint16_t disk = in.u16(), directory_disk = in.u16(), here = in.u16();
    End found;
    found.directory = {in.u16(), in.u32(), in.u32()};
    const std::size_t comment = in.u16();
    if (comment != in.left()) continue;  // it ends with the file
    if ((disk != 0 && disk != all16) || directory_disk != disk || here != found.directory.count)
      refuse("an archive of several disks");
    found.at = archive_size - end.size() + at;
    if (at >= locator_size && signature_at(end, at - locator_size) == locator_signature) {
      Fields locator(end.subspan(at - locator_size + 4), "the locator");
      const std::uint32_t disk64 = locator.u32();
      found.directory64 = locator.u64();
      if (disk64 != 0 || locator.u32() > 1) refuse("an archive of several disks");
      found.at -= locator_size;
      if (found.at < directory64_size || *found.directory64 > found.at - directory64_size)
        refuse(
            fmt::format("the record of 64 bits is at {}, beyond {}", *found.directory64, found.at));
    }
    const Directory& d = found.directory;
    if (!found.directory64 && d.offset + d.size != found.at)
      refuse(fmt::format("a directory of {} bytes at {} does not end at {}", d.size, d.offset,
                         found.at));
    return found;
  }
  refuse("no end of an archive; is it one, or cut short?");
}

Directory read_directory64(std::span<const std::byte> record, const End& end) {
  Fields in(record, "the record of 64 bits");
  if (in.u32() != end64_signature) refuse("no record of 64 bits where one should be");
  const std::uint64_t rest = in.u64();  // of the record
  in.skip(4);
  const std::uint32_t disk = in.u32(), directory_disk = in.u32();
  const std::uint64_t here = in.u64();
  Directory d;
  d.count = in.u64();
  d.size = in.u64();
  d.offset = in.u64();
  if (disk != 0 || directory_disk != 0 || here != d.count) refuse("an archive of several disks");
  if (rest != end.at - *end.directory64 - 12)
    refuse(fmt::format("a record of {} bytes at {} does not end at {}", rest, *end.directory64,
                       end.at));
  const auto agrees = [](std::uint64_t low, std::uint64_t ones, std::uint64_t value) {
    return low == ones || low == value;
  };
  const Directory& low = end.directory;
  if (!agrees(low.count, all16, d.count) || !agrees(low.size, all32, d.size) ||
      !agrees(low.offset, all32, d.offset))
    refuse("the two ends of the archive do not agree");
  if (d.offset > *end.directory64 || d.size != *end.directory64 - d.offset)
    refuse(fmt::format("a directory of {} bytes at {} does not end at {}", d.size, d.offset,
                       *end.directory64));
  return d;
}

std::vector<Member> read_members(std::span<const std::byte> bytes, const Directory& directory) {
  Fields in(bytes, "the directory");
  std::vector<Member> members;
  while (in.left() > 0) {
    members.push_back(read_member(in));
    const Member& member = members.back();
    check_name(member.name);
    if (member.offset > directory.offset || directory.offset - member.offset < member.packed_size)
      refuse(fmt::format("{} has {} bytes at {}, and the directory is at {}", quoted(member.name),
                         member.packed_size, member.offset, directory.offset));
  }
  if (members.size() != directory.count)
    refuse(fmt::format("the directory has {} entries, not {}", members.size(), directory.count));
  check_unique(members);
  return members;
}

std::size_t local_rest(std::span<const std::byte> header, const Member& member) {
  Fields in(header, "a local header");
  if (in.u32() != local_signature)
    refuse(fmt::format("no header of {} at {}", quoted(member.name), member.offset));
  in.skip(2);
  const std::uint16_t flags = in.u16(), method = in.u16();
  if (flags != member.flags || method != member.method)
    refuse(fmt::format("{} has flags {:#x} and method {}, and in the directory {:#x} and {}",
                       quoted(member.name), flags, method, member.flags, member.method));
  in.skip(16);
  const std::size_t name = in.u16(), extra = in.u16();
  return name + extra;
}

void check_local(std::span<const std::byte> header, std::span<const std::byte> rest,
                 const Member& member) {
  Fields in(header.subspan(14), "a local header");
  Member local = member;
  local.crc = in.u32();
  local.packed_size = in.u32();
  local.size = in.u32();
  Fields more(rest, "a local header");
  local.name = more.text(in.u16());
  if (local.name != member.name)
    refuse(fmt::format("{} is {} in its header", quoted(member.name), quoted(local.name)));
  if ((member.flags & sizes_follow) != 0) return;  // the data, and are not needed
  read_extra64(Fields(more.take(more.left()), "an extra field"), local.name,
               {&local.size, &local.packed_size});
  if (local != member)
    refuse(
        fmt::format("{} has {} bytes ({} unpacked, CRC {:08x}) in its header, and {} ({}, "
                    "{:08x}) in the directory",
                    quoted(member.name), local.packed_size, local.size, local.crc,
                    member.packed_size, member.size, member.crc));
}

void check_name(const std::string& name) {
  const std::string path = '/' + name + '/';
  const bool leads_out = name.starts_with('/') || path.find("/../") != path.npos ||
                         name.find('\\') != name.npos || name.find('\0') != name.npos;
  if (name.empty() || leads_out) refuse(fmt::format("a member with the name {}", quoted(name)));
}

std::string local_header(const Member& member) {
  Bytes out;
  out.u32(local_signature).u16(version).u16(member.flags).u16(member.method).u16(0).u16(date);
  out.u32(member.crc).u32(all32).u32(all32).u16(member.name.size()).u16(20).text(member.name);
  out.u16(extra64).u16(16).u64(member.size).u64(member.packed_size);
  return out.take();
}

std::string directory_entry(const Member& member) {
  const bool large = member.size > limit32 || member.packed_size > limit32;
  const bool far = member.offset > limit32;
  Bytes extra;
  if (large) extra.u64(member.size).u64(member.packed_size);
  if (far) extra.u64(member.offset);
  const std::string numbers = extra.take();
  Bytes out;
  out.u32(entry_signature).u16(made_by).u16(version).u16(member.flags).u16(member.method);
  out.u16(0).u16(date).u32(member.crc);
  out.u32(large ? all32 : member.packed_size).u32(large ? all32 : member.size);
  out.u16(member.name.size()).u16(numbers.empty() ? 0 : numbers.size() + 4);
  out.u16(0).u16(0).u16(0).u32(mode << 16).u32(far ? all32 : member.offset).text(member.name);
  if (!numbers.empty()) out.u16(extra64).u16(numbers.size()).text(numbers);
  return out.take();
}

std::string directory_end(const Directory& d) {
  Bytes out;
  if (d.count > all16 || d.size > limit32 || d.offset > limit32) {
    out.u32(end64_signature).u64(directory64_size - 12).u16(version).u16(version).u32(0).u32(0);
    out.u64(d.count).u64(d.count).u64(d.size).u64(d.offset);
    out.u32(locator_signature).u32(0).u64(d.offset + d.size).u32(1);
  }
  const auto count = std::min<std::uint64_t>(d.count, all16);
  out.u32(end_signature).u16(0).u16(0).u16(count).u16(count);
  out.u32(std::min<std::uint64_t>(d.size, all32)).u32(std::min<std::uint64_t>(d.offset, all32));
  out.u16(0);
  return out.take();
}

}  // namespace quarry::zip
