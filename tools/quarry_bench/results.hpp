// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstddef>
#include <string>
#include <vector>

/// What a run of quarry-bench found. Seconds are medians.
namespace bench {

/// What the link gives to large page-locked copies in this run, in bytes a second (on the CPU
/// device: one copy in memory).
struct Link {
  double up = 0, down = 0;
};

struct TransferRow {
  std::string section;    ///< what is printed together: "pageable host memory"
  std::string memory;     ///< pageable, pinned, mapped, managed, device
  std::string direction;  ///< H2D, D2H, D2D, both, or empty
  std::string layout;     ///< contiguous, h[:, ::2], d.T, ...; what is done where nothing is copied
  int streams = 0;        ///< 0: a call that waits
  std::size_t bytes = 0;  ///< of the elements; both directions together
  double seconds = 0;
  double share = 0;  ///< of the link; 0 where that has no meaning
  std::string error;

  double rate() const { return seconds > 0 ? static_cast<double>(bytes) / seconds : 0; }
};

struct AllocationRow {
  std::string workload, group, title, per;  ///< see Workload
  double parameter = 0;
  std::string resource;  ///< pool, driver_pool, device, nothing
  double seconds = 0;    ///< of one `per`
  std::string error;
};

struct Results {
  std::string part, command, version, device, driver, date;
  bool is_cpu = false;
  Link link;
  std::vector<TransferRow> transfers;
  std::vector<AllocationRow> allocation;
  double took = 0;  ///< seconds, all in all
};

}  // namespace bench
