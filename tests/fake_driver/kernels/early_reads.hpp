// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <vector>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/kernels/operands.hpp"

/// Kernels that read before the work ahead of them in their stream is done: whether it may write
/// what they read.
namespace quarry::fake {

struct Launch;

/// What a kernel reads and writes in global memory, and when it begins.
struct KernelAccess {
  /// `early`: the launch lets it begin before the work ahead is done.
  KernelAccess(const Launch& launch, bool early);

  Beginning begins;
  bool writes_anything = false;  ///< not only `writes`
  std::vector<Bytes> reads, writes;
};

/// The work of a stream that may be running when its next kernel begins.
class UnfinishedWork {
 public:
  /// With nullptr other work than a kernel of Quarry's. False if the kernel reads what may not be
  /// written yet.
  bool add(const KernelAccess* kernel);

 private:
  bool may_write(const Bytes& bytes) const;

  bool writes_anything_ = true;
  std::vector<Bytes> writes_;
};

}  // namespace quarry::fake
