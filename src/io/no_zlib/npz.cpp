// SPDX-License-Identifier: BSD-3-Clause
// In a library that is built without zlib.
#include <quarry/npz.hpp>

namespace quarry {

struct detail::NpzState {};

namespace {

[[noreturn]] void refuse() {
  throw BackendUnavailable(".npz files need zlib, and this library was built without it");
}

}  // namespace

NpzFile::NpzFile(const std::string&) { refuse(); }
const std::vector<std::string>& NpzFile::names() const { refuse(); }
bool NpzFile::contains(std::string_view) const { refuse(); }
DType NpzFile::dtype(std::string_view) const { refuse(); }
Shape NpzFile::shape(std::string_view) const { refuse(); }
detail::NpyContents NpzFile::read(std::string_view, DType) const { refuse(); }
UntypedNDArray NpzFile::load_array(std::string_view, DType, const ArrayOptions&) const { refuse(); }
void savez(const std::string&, std::span<const NpzEntry>, const SaveOptions&) { refuse(); }
void savez_compressed(const std::string&, std::span<const NpzEntry>, const SaveOptions&) {
  refuse();
}

}  // namespace quarry
