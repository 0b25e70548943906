// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_load.hpp"

#include <quarry/array/foreign.hpp>

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "io/npy_array.hpp"
#include "memory/transfer/source_upload.hpp"

namespace quarry::npy {

namespace {

/// The elements of a file, which any thread reads.
class Elements final : public memory::ByteSource {
 public:
  explicit Elements(Reader& file) : file_(file) {}
  void read(std::size_t first, std::span<std::byte> out) const override {
    file_.read_at(first, out);
  }

 private:
  Reader& file_;
};

struct NewArray : DeviceNDArrayBase {
  NewArray(DType dtype, const Shape& shape, const ArrayOptions& options)
      : DeviceNDArrayBase(dtype, shape, options) {}
};

/// Whether the array's memory is to have the bytes of the file.
bool is_like_file(const DeviceNDArrayBase& array, const Header& header) {
  return has_layout(header.descr, array.dtype()) &&
         (header.fortran_order ? array.is_f_contiguous() : array.is_c_contiguous());
}

}  // namespace

UntypedNDArray load_array(Reader& file, DType expected, const ArrayOptions& options) {
  require_elements(file, expected);
  const Header& header = file.header();
  ArrayOptions chosen = options;
  if (!options.order && options.strides.empty())
    chosen.order = header.fortran_order ? Order::f : Order::c;
  const NewArray array(expected, header.shape, chosen);
  if (file.is_parallel() && is_like_file(array, header)) {
    memory::upload_source(array.ref(), Elements(file), array.stream());
    file.verify();
  } else {
    const quarry::detail::NpyContents contents = read_array(file, expected);
    const Layout layout{contents.layout.shape,
                        quarry::detail::byte_strides(contents.layout.shape, contents.layout.strides,
                                                     expected.itemsize())};
    upload(array.ref(), {contents.data.get(), expected, layout}, array.stream(), true);
  }
  return UntypedNDArray(array);
}

namespace {

/// A file in memory, which is only read.
class Mapping {
 public:
  explicit Mapping(const InputFile& file) : size_(std::size_t(file.size())) {
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    if (data_ == MAP_FAILED) fail(file.path(), "cannot be mapped", errno);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { ::munmap(data_, size_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  std::size_t size_;
  void* data_;
};

UntypedNDArray map_array(const std::string& path, DType expected) {
  const InputFile file(path);
  const Reader reader(std::make_unique<FileContent>(file));
  require_elements(reader, expected);
  const Header& header = reader.header();
  require<DTypeError>(has_layout(header.descr, expected) && !swaps_bytes(header.descr), [&] {
    return fmt::format("{}: the elements lie in another way than {} in memory: load_npy() converts",
                       path, to_string(expected));
  });
  const Order order = header.fortran_order ? Order::f : Order::c;
  auto mapping = std::make_shared<Mapping>(file);
  const ForeignArray foreign{.data = mapping->data() + header.data_offset,
                             .dtype = expected,
                             .shape = header.shape,
                             .strides = dense_strides(header.shape, expected.itemsize(), order),
                             .device = Device::cpu(),
                             .is_read_only = true};
  return adopt_array(foreign, std::move(mapping),
                     quarry::detail::stream_of({.device = Device::cpu()}));
}

}  // namespace

}  // namespace quarry::npy

namespace quarry {

UntypedNDArray detail::load_array(const std::string& path, DType expected,
                                  const ArrayOptions& options) {
  npy::Reader file(path);
  return npy::load_array(file, expected, options);
}

UntypedNDArray detail::map_array(const std::string& path, DType expected) {
  return npy::map_array(path, expected);
}

}  // namespace quarry
