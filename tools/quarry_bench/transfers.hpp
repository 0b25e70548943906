// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/ndarray.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "tools/quarry_bench/results.hpp"
#include "tools/quarry_bench/transfer_cases.hpp"
#include "tools/sampling.hpp"

namespace bench {

/// Host memory of one kind, written before it is timed.
class Arena {
 public:
  Arena(Memory memory, std::size_t bytes, const quarry::Device& device);
  std::byte* host() const { return host_; }
  /// Not for pageable memory.
  const std::shared_ptr<quarry::Buffer>& buffer() const { return buffer_; }

 private:
  std::unique_ptr<std::byte[]> pageable_;
  std::shared_ptr<quarry::Buffer> buffer_;
  std::byte* host_;
};

/// Times copies on one device. Element i of what is copied from is uniform(0, i), so that every
/// case is checked, once, before it is timed.
class Transfers {
 public:
  Transfers(const quarry::Device& device, std::size_t most_bytes, const Sampling& sampling);

  /// Large copies of page-locked memory by the device's own call, median of 3.
  Link measure_link(std::size_t bytes, int copies);
  /// The row without its share of the link; an exception becomes its `error`.
  TransferRow run(const TransferCase& c);
  /// What waiting costs when there is hardly anything to wait for.
  std::vector<TransferRow> latencies();

 private:
  using Work = std::function<void()>;

  Work work_of(const TransferCase& c);
  Work copy(const TransferCase& c);
  Work copy_in_streams(const TransferCase& c);
  Work copy_both_ways(const TransferCase& c);
  Work copy_by_kernel(const TransferCase& c);
  double prefetch(const TransferCase& c);
  void take_arenas(Memory memory);
  void check(const TransferCase& c, const Work& work);
  void poison(const TransferCase& c);
  void fetch(std::size_t bytes, const std::byte* from);

  quarry::HostRef host_ref(const TransferCase& c, std::size_t at = 0) const;
  quarry::DeviceRef device_ref(const TransferCase& c, std::size_t at = 0) const;

  quarry::Device device_;
  quarry::Stream stream_;
  std::vector<quarry::Stream> streams_;
  std::size_t most_bytes_;
  Sampling sampling_;
  std::shared_ptr<quarry::Buffer> from_, to_;  ///< on the device
  Memory memory_ = Memory::device;             ///< of the arenas
  std::unique_ptr<Arena> source_, target_;     ///< on the host
  std::unique_ptr<std::byte[]> fetched_;       ///< what a check reads
};

}  // namespace bench
