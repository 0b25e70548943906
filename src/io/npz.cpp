// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npz.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "io/npy_array.hpp"
#include "io/npy_load.hpp"
#include "io/python_literal.hpp"
#include "io/zip_reader.hpp"
#include "io/zip_writer.hpp"

namespace quarry {

namespace {

constexpr std::string_view suffix = ".npy";

std::string_view without_suffix(std::string_view name) {
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

}  // namespace

struct detail::NpzState {
  explicit NpzState(const std::string& path) : archive(path) {
    const std::vector<zip::Member>& members = archive.members();
    for (std::size_t i = 0; i < members.size(); ++i) {
      names.emplace_back(without_suffix(members[i].name));
      numbers.insert_or_assign(names.back(), i);
    }
    // a member's own name comes before another's without the suffix
    for (std::size_t i = 0; i < members.size(); ++i) numbers.insert_or_assign(members[i].name, i);
  }

  npy::Reader open(std::string_view name) const {
    const auto found = numbers.find(name);
    require<IndexError>(found != numbers.end(), [&] {
      return fmt::format("{}: no array {} among {}", archive.path(), npy::quoted(name),
                         names.size());
    });
    return npy::Reader(archive.open(found->second));
  }

  zip::Archive archive;
  std::vector<std::string> names;
  std::map<std::string, std::size_t, std::less<>> numbers;
};

NpzFile::NpzFile(const std::string& path)
    : state_(std::make_shared<const detail::NpzState>(path)) {}

const std::vector<std::string>& NpzFile::names() const { return state_->names; }

bool NpzFile::contains(std::string_view name) const { return state_->numbers.contains(name); }

DType NpzFile::dtype(std::string_view name) const {
  return state_->open(name).header().descr.dtype;
}

Shape NpzFile::shape(std::string_view name) const { return state_->open(name).header().shape; }

detail::NpyContents NpzFile::read(std::string_view name, DType expected) const {
  npy::Reader file = state_->open(name);
  return npy::read_array(file, expected);
}

UntypedNDArray NpzFile::load_array(std::string_view name, DType expected,
                                   const ArrayOptions& options) const {
  npy::Reader file = state_->open(name);
  return npy::load_array(file, expected, options);
}

namespace {

npy::Sink& add(zip::ArchiveWriter& archive, const std::string& name) {
  try {
    require<FormatError>(!name.empty(), "an array without a name");
    return archive.add(name + std::string(suffix));
  } catch (const FormatError& e) {
    throw LogicError(std::string("savez: ") + e.what());
  }
}

void write(const std::string& path, std::span<const NpzEntry> entries, bool deflates,
           const SaveOptions& options) {
  zip::ArchiveWriter archive(path, deflates);
  int unnamed = 0;
  for (const NpzEntry& entry : entries) {
    const std::string name = entry.name() ? *entry.name() : fmt::format("arr_{}", unnamed++);
    npy::Sink& file = add(archive, name);
    if (const auto* host = std::get_if<HostRef>(&entry.array())) {
      npy::write_array(file, *host);
    } else {
      const npy::HostImage image(std::get<UntypedNDArray>(entry.array()), path);
      npy::write_array(file, image.ref());
    }
  }
  archive.commit(options.sync);
}

}  // namespace

void savez(const std::string& path, std::span<const NpzEntry> entries, const SaveOptions& options) {
  write(path, entries, false, options);
}

void savez_compressed(const std::string& path, std::span<const NpzEntry> entries,
                      const SaveOptions& options) {
  write(path, entries, true, options);
}

}  // namespace quarry
