// SPDX-License-Identifier: BSD-3-Clause
#include "io/zip_writer.hpp"

#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/python_literal.hpp"
#include "io/zip_fields.hpp"

namespace quarry::zip {

namespace {

constexpr std::uint16_t utf8 = 1 << 11;  // a flag
constexpr std::size_t longest_name = 0xffff;

std::uint16_t flags_for(const std::string& name) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  return std::ranges::all_of(name, is_ascii) ? 0 : utf8;
}

}  // namespace

ArchiveWriter::ArchiveWriter(std::string path, bool deflates)
    : file_(std::move(path)), deflates_(deflates), body_(*this) {}

npy::Sink& ArchiveWriter::add(const std::string& name) {
  finish_member();
  check_name(name);
  if (name.size() > longest_name)
    refuse(fmt::format("a name of {} bytes; {} at most", name.size(), longest_name));
  if (std::ranges::find(members_, name, &Member::name) != members_.end())
    refuse(fmt::format("two members with the name {}", npy::quoted(name)));
  Member member{.name = name, .flags = flags_for(name), .method = deflates_ ? deflated : stored};
  member.offset = file_.written();
  members_.push_back(std::move(member));
  file_.Sink::write(local_header(members_.back()));
  if (deflates_) deflater_.emplace(file_);
  is_open_ = true;
  return body_;
}

void ArchiveWriter::Body::write(std::span<const std::byte> bytes) {
  constexpr std::size_t step = 256 << 10;  // that a core's cache holds
  Member& member = archive_.members_.back();
  for (std::size_t done = 0; done < bytes.size(); done += step) {
    const auto part = bytes.subspan(done, std::min(step, bytes.size() - done));
    member.crc = crc_of(part, member.crc);
    archive_.deflater_ ? archive_.deflater_->write(part) : archive_.file_.write(part);
  }
  member.size += bytes.size();
}

/// Its header gets the numbers that are known now.
void ArchiveWriter::finish_member() {
  if (!std::exchange(is_open_, false)) return;
  if (deflater_) deflater_->finish();
  deflater_.reset();
  Member& member = members_.back();
  const std::size_t header_size = local_header(member).size();
  member.packed_size = file_.written() - member.offset - header_size;
  const std::string header = local_header(member);
  file_.rewrite(member.offset, std::as_bytes(std::span(header)));
}

void ArchiveWriter::commit(bool sync) {
  finish_member();
  Directory directory{.count = members_.size(), .offset = file_.written()};
  for (const Member& member : members_) file_.Sink::write(directory_entry(member));
  directory.size = file_.written() - directory.offset;
  file_.Sink::write(directory_end(directory));
  file_.commit(sync);
}

}  // namespace quarry::zip
