// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npz files: archives of .npy files. They are not trusted.
#pragma once

#include <quarry/npy.hpp>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quarry {

namespace detail {
struct NpzState;
}  // namespace detail

/// An .npz file, of which arrays are read when they are asked for: what np.load returns. A handle;
/// any threads. A name is a member's of the archive, with ".npy" or without it. What loads throws
/// IndexError for a name that there is not, and what load_npy() throws; FormatError also for a
/// wrong checksum, sizes that contradict each other, members that are encrypted or packed in
/// another way than stored and deflated.
class NpzFile {
 public:
  /// Reads the list of members. Throws IoError if the file cannot be read, FormatError if it is no
  /// archive or cut short, or if names occur twice or lead out of a folder; BackendUnavailable if
  /// the library was built without zlib.
  explicit NpzFile(const std::string& path);

  /// Of the arrays, without ".npy", in the order of the file: NumPy's `files`.
  const std::vector<std::string>& names() const;
  bool contains(std::string_view name) const;  ///< with ".npy" or without it
  DType dtype(std::string_view name) const;    ///< of a record only the size is known
  Shape shape(std::string_view name) const;    ///< read from the array's header
  /// The array in host memory.
  template <Element T>
  NpyArray<T> load_npy(std::string_view name) const {
    return NpyArray<T>(read(name, dtype_of<T>));
  }
  /// The array on a device, as by quarry::load(); what is deflated goes through host memory.
  template <Element T>
  DeviceNDArray<T> load(std::string_view name, const ArrayOptions& options = {}) const {
    return DeviceNDArray<T>(load_array(name, dtype_of<T>, options));
  }

 private:
  detail::NpyContents read(std::string_view name, DType expected) const;
  UntypedNDArray load_array(std::string_view name, DType expected,
                            const ArrayOptions& options) const;

  std::shared_ptr<const detail::NpzState> state_;
};

/// A name and an array for savez(), which is on a device, or in host memory that has to live until
/// then.
class NpzEntry {
 public:
  ///@{
  /// The name is without ".npy".
  template <HostArray H>
  NpzEntry(std::string name, const H& array) : name_(std::move(name)), array_(host_ref(array)) {}
  NpzEntry(std::string name, const DeviceNDArrayBase& array)
      : name_(std::move(name)), array_(UntypedNDArray(array)) {}
  ///@}
  ///@{
  /// Without a name: that of its place among such entries, "arr_0", "arr_1", ..., as in NumPy.
  template <HostArray H>
  NpzEntry(const H& array) : array_(host_ref(array)) {}
  NpzEntry(const DeviceNDArrayBase& array) : array_(UntypedNDArray(array)) {}
  ///@}

  /// In the archive; nothing if it follows from the place.
  const std::optional<std::string>& name() const { return name_; }
  /// The array.
  const std::variant<HostRef, UntypedNDArray>& array() const { return array_; }

 private:
  std::optional<std::string> name_;
  std::variant<HostRef, UntypedNDArray> array_;
};

///@{
/// Writes what numpy.savez and numpy.savez_compressed write, to a temporary file that is renamed at
/// the end: savez("model.npz", {{"w", w}, {"b", b}}), or savez("model.npz", {w, b}). Throws
/// IoError; LogicError for names that are empty, occur twice or lead out of a folder; DTypeError as
/// save_npy(); BackendUnavailable if the library was built without zlib. After a failure the old
/// file is there.
void savez(const std::string& path, std::span<const NpzEntry> entries,
           const SaveOptions& options = {});
void savez_compressed(const std::string& path, std::span<const NpzEntry> entries,
                      const SaveOptions& options = {});
inline void savez(const std::string& path, std::initializer_list<NpzEntry> entries,
                  const SaveOptions& options = {}) {
  savez(path, std::span(entries.begin(), entries.size()), options);
}
inline void savez_compressed(const std::string& path, std::initializer_list<NpzEntry> entries,
                             const SaveOptions& options = {}) {
  savez_compressed(path, std::span(entries.begin(), entries.size()), options);
}
///@}

}  // namespace quarry
