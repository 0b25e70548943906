// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace quarry::backend::cuda {
struct DriverTable;
struct NvrtcTable;
}  // namespace quarry::backend::cuda

namespace quarry::test {

/// For the scope, whatever the driver and NVRTC allocate while they are called is spared by
/// FailingNew: they stand for libraries in C. Functions that they call back are theirs too.
class SparedDriver {
 public:
  SparedDriver();
  ~SparedDriver();
  SparedDriver(const SparedDriver&) = delete;
  SparedDriver& operator=(const SparedDriver&) = delete;

 private:
  const backend::cuda::DriverTable* driver_;
  const backend::cuda::NvrtcTable* nvrtc_;
};

}  // namespace quarry::test
