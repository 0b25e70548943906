// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>

#include "io/npy_array.hpp"

namespace quarry {

namespace detail {

NpyContents load_npy(const std::string& path, DType expected) {
  npy::Reader file(path);
  return npy::read_array(file, expected);
}

void save_npy(const std::string& path, const HostRef& array, const SaveOptions& options) {
  npy::Writer file(path);
  npy::write_array(file, array);
  file.commit(options.sync);
}

}  // namespace detail

void save_npy(const std::string& path, const DeviceNDArrayBase& array, const SaveOptions& options) {
  const npy::HostImage image(array, path);
  detail::save_npy(path, image.ref(), options);
}

}  // namespace quarry
