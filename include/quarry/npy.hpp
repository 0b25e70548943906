// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy files. They are not trusted: headers are checked before memory is allocated.
#pragma once

#include <quarry/array/ndarray.hpp>
#include <quarry/base/error.hpp>
#include <quarry/memory/transfer.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace quarry {

/// How a file is written.
struct SaveOptions {
  bool sync = false;  ///< return only when the file is on the disk
};

namespace detail {

struct FreeHostBlock {
  void operator()(std::byte* block) const noexcept;
};

struct NpyContents {
  Layout layout;  ///< strides in elements
  std::unique_ptr<std::byte, FreeHostBlock> data;
};

NpyContents load_npy(const std::string& path, DType expected);
UntypedNDArray load_array(const std::string& path, DType expected, const ArrayOptions& options);
UntypedNDArray map_array(const std::string& path, DType expected);
void save_npy(const std::string& path, const HostRef& array, const SaveOptions& options);

/// NpyAppender without its element type.
class NpyAppend {
 public:
  NpyAppend(const std::string& path, DType dtype, const Shape& item);
  NpyAppend(NpyAppend&&) noexcept;
  NpyAppend& operator=(NpyAppend&&) noexcept;
  ~NpyAppend();

  const Shape& shape() const;
  void append(const HostRef& rows);
  void append(const DeviceNDArrayBase& rows);
  void flush(const SaveOptions& options);
  void close(const SaveOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Between arrays of one shape and dtype that do not overlap.
void copy_host(const HostRef& to, const HostRef& from);

/// A host array that can be resized and then filled: xtensor's containers.
template <class C, class T>
concept ResizableHostArray = StridedHostArray<C> && std::default_initializable<C> &&
    std::same_as<host_value_t<C>, T> &&
    requires(C& container, const typename C::shape_type& shape) {
  container.resize(shape);
};

}  // namespace detail

/// The array of an .npy file in host memory, in the file's order (C or Fortran). to_device() takes
/// it without a host copy; it converts to an xtensor container with one copy.
template <Element T>
class NpyArray {
 public:
  using value_type = T;  ///< of the elements

  /// For load_npy().
  explicit NpyArray(detail::NpyContents contents) : contents_(std::move(contents)) {}

  const Shape& shape() const { return contents_.layout.shape; }        ///< extents of the axes
  const Strides& strides() const { return contents_.layout.strides; }  ///< in elements
  std::int64_t size() const { return element_count(shape()); }         ///< number of elements
  ///@{
  /// The first element, in the order of strides().
  T* data() { return reinterpret_cast<T*>(contents_.data.get()); }
  const T* data() const { return reinterpret_cast<const T*>(contents_.data.get()); }
  ///@}

  /// Throws ShapeError if the container's number of axes is fixed and another one.
  template <detail::ResizableHostArray<T> Container>
  operator Container() const {
    Container result;
    result.resize(detail::extents_for<typename Container::shape_type>(shape()));
    detail::copy_host(host_ref(result), host_ref(*this));
    return result;
  }

 private:
  detail::NpyContents contents_;
};

/// Reads versions 1.0, 2.0 and 3.0 in either byte order; bytes after the data are ignored.
/// Throws IoError if the file cannot be read, FormatError if it is not an .npy file or is
/// cut short (and for object arrays), DTypeError if its elements are not T's type, MemoryError if
/// memory runs out. xt::xarray<float> dem = qy::load_npy<float>("dem.npy"); Of a record the file
/// must have fields of the same names, shapes and types; in which order, and between which padding,
/// does not matter.
template <Element T>
NpyArray<T> load_npy(const std::string& path) {
  return NpyArray<T>(detail::load_npy(path, dtype_of<T>));
}

/// The same into a new array on a device, in the file's order unless the options have one. What
/// lies in the file as it is to lie there is read into the page-locked buffers of the transfer by
/// several threads, without memory for the whole file; other files go through the host's memory.
/// Returns when the array has its elements. A file that is cut short meanwhile is an IoError.
template <Element T>
DeviceNDArray<T> load(const std::string& path, const ArrayOptions& options = {}) {
  return DeviceNDArray<T>(detail::load_array(path, dtype_of<T>, options));
}

/// A read-only array of the CPU device over the file itself, whose pages are read when they are
/// accessed: NumPy's mmap_mode="r". It keeps the file open. Throws as load_npy(), and DTypeError if
/// the elements do not lie in the file as in memory (big-endian numbers, records with other
/// padding). As in NumPy, a file must not be cut short while it is mapped: the system ends the
/// program (SIGBUS) when it accesses what is not there. load() does not map.
template <Element T>
DeviceNDArray<const T> map_npy(const std::string& path) {
  return DeviceNDArray<const T>(detail::map_array(path, dtype_of<T>));
}

/// Writes what numpy.save writes, for an xtensor container or view, a span or a vector: to a
/// temporary file beside `path`, renamed at the end, so that a failure leaves the old file. Throws
/// IoError, and DTypeError for bfloat16 and records without QUARRY_RECORD, which have no code in
/// the format.
template <HostArray H>
void save_npy(const std::string& path, const H& array, const SaveOptions& options = {}) {
  detail::save_npy(path, host_ref(array), options);
}

/// The same for an array on a device; waits for it and allocates host memory for all of it.
void save_npy(const std::string& path, const DeviceNDArrayBase& array,
              const SaveOptions& options = {});

/// Appends arrays to an .npy file along axis 0, as long as the file is to grow: rows of shape
/// `item` in C order. The file is whole whenever its header is written, by flush() and close(), and
/// before that readers see the rows of the last time: elements are written behind them. If the
/// program ends in between, or an append fails, those rows are lost and their bytes are written
/// over by the next NpyAppender. A header of up to 512 bytes is one sector of a disk, which is
/// written whole or not at all; with {.sync = true} the elements are on the disk before it.
///   NpyAppender<float> log("log.npy", {3});
///   log.append(positions);  // of shape (3,) or (n, 3)
template <Element T>
class NpyAppender {
 public:
  /// Opens the file, or makes one of shape (0, *item). Throws IoError, also if another appender
  /// has it open; FormatError for what is no .npy file; DTypeError for another element type, byte
  /// order or padding of records; ShapeError for another shape than (n, *item); LogicError for a
  /// file in Fortran order, or with another array behind the first.
  explicit NpyAppender(const std::string& path, const Shape& item = {})
      : file_(path, dtype_of<T>, item) {}

  const Shape& shape() const { return file_.shape(); }  ///< with the rows that are not flushed

  ///@{
  /// One row, of shape `item`, or several, of shape (n, *item); waits for an array on a device.
  /// Throws ShapeError; IoError; SizeOverflow; FormatError if the file's header has no room for the
  /// new shape (those of NumPy and of this library have). Then nothing was appended.
  template <HostArray H>
  void append(const H& rows) {
    static_assert(std::same_as<host_value_t<const H>, T>, "the elements have another type");
    file_.append(host_ref(rows));
  }
  void append(const DeviceNDArray<const T>& rows) { file_.append(rows); }
  void append(const DeviceNDArray<T>& rows) { file_.append(rows); }
  ///@}
  /// Makes the rows so far part of the file. Throws IoError.
  void flush(const SaveOptions& options = {}) { file_.flush(options); }
  /// The same, and closes the file; the destructor does that without telling of errors. append()
  /// and flush() then throw LogicError.
  void close(const SaveOptions& options = {}) { file_.close(options); }

 private:
  detail::NpyAppend file_;
};

}  // namespace quarry
