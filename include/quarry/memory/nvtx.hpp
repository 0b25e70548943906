// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/adaptor.hpp>

namespace quarry {

/// Shows each allocation and deallocation in profilers (Nsight Systems) as an NVTX range of the
/// domain "Quarry", "allocate 1024 bytes from pool of device", with the bytes as payload. Costs
/// little without a profiler, and in builds without CUDA.
class Nvtx : public detail::Adaptor<Nvtx> {
 public:
  static constexpr const char* kind = "nvtx";  ///< begins name()
  /// Of any resource.
  explicit Nvtx(Resource upstream) : Adaptor(std::move(upstream)) {}

  /// Passed on, within a range.
  void* allocate(const Stream& stream, std::size_t bytes,
                 std::size_t alignment = Resource::default_alignment) const;
  using Adaptor::deallocate;
  /// Passed on, within a range.
  void deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                  std::size_t bytes, std::size_t alignment) const noexcept;
  /// Whether a profiler is attached.
  static bool is_active();
};

}  // namespace quarry
