// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_reader.hpp"

#include <quarry/base/error.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace quarry::npy {

namespace {

Header read_header(Content& content) {
  std::vector<std::byte> start(std::min<std::uint64_t>(content.size(), max_header_size));
  content.peek(start);
  try {
    return parse_header(start, content.size());
  } catch (const FormatError& e) {
    throw FormatError(content.name() + ": " + e.what());
  } catch (const DTypeError& e) {
    throw DTypeError(content.name() + ": " + e.what());
  }
}

}  // namespace

Reader::Reader(const std::string& path) : Reader(std::make_unique<FileContent>(InputFile(path))) {}

Reader::Reader(std::unique_ptr<Content> content)
    : content_(std::move(content)), header_(read_header(*content_)), at_(header_.data_offset) {}

void Reader::read_at(std::uint64_t first, std::span<std::byte> out) {
  content_->read(header_.data_offset + first, out);
  normalise(header_.descr, out);
}

void Reader::read(std::span<std::byte> out) {
  content_->read(std::exchange(at_, at_ + out.size()), out);
  normalise(header_.descr, out);
}

}  // namespace quarry::npy
