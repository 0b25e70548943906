// SPDX-License-Identifier: BSD-3-Clause
// A libFuzzer program: any bytes are an .npz file whose arrays are read, or refused with
// FormatError or DTypeError. A checksum that is right is written again, and read.
#include <quarry/base/error.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "io/npy_reader.hpp"
#include "io/zip_reader.hpp"

namespace {

using namespace quarry;

/// A file in memory with a path.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : descriptor_(::memfd_create("npz", 0)) {
    if (::write(descriptor_, data, size) != ssize_t(size)) std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

void load(const zip::Archive& archive, std::size_t number) {
  constexpr std::size_t largest = 1 << 20;
  try {
    npy::Reader file(archive.open(number));
    const std::size_t size = file.header().data_size;
    std::vector<std::byte> elements(std::min(size, largest));
    if (file.is_parallel() && elements.size() == size && size > 1) {  // the second half first
      const auto all = std::span(elements);
      file.read_at(size / 2, all.subspan(size / 2));
      file.read_at(0, all.first(size / 2));
    } else if (elements.size() == size) {
      file.read(elements);
    }
    file.verify();
  } catch (const FormatError&) {
  } catch (const DTypeError&) {
  }
}

/// What the writer makes of the members is what was read.
void check_round_trip(const std::vector<zip::Member>& members) {
  std::string directory;
  for (const zip::Member& member : members) directory += zip::directory_entry(member);
  std::uint64_t end = 0;
  for (const zip::Member& member : members) end = std::max(end, member.offset + member.packed_size);
  const zip::Directory where{members.size(), directory.size(), end};
  const auto again = zip::read_members(std::as_bytes(std::span(directory)), where);
  if (again != members) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const zip::Archive archive(file.path());
    check_round_trip(archive.members());
    for (std::size_t i = 0; i < archive.members().size(); ++i) load(archive, i);
  } catch (const FormatError&) {
  }
  return 0;
}
