// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/layout.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// Host memory that the other side of a copy is, or what is between two places of the device.
enum class Memory { pageable, pinned, mapped, managed, device };
enum class Way { up, down, across, both };
enum class Pattern { contiguous, second_columns, transposed, column_block, second_rows };
enum class Side { host, device };

/// One thing to time.
struct TransferCase {
  std::string section;
  Memory memory;
  Way way;
  std::size_t bytes;  ///< of the elements, one way
  Pattern pattern = Pattern::contiguous;
  Side strided = Side::host;  ///< which side has the pattern; the other one is dense
  int streams = 0;  ///< queued in so many, a part in each, then waited for; 0: a call that waits
};

std::string to_string(Memory memory);
std::string to_string(Way way);
/// h[:, ::2] or d[:, ::2]
std::string to_string(Pattern pattern, Side side);

/// `bytes` of float32, a power of four, as a matrix whose memory has the pattern; the contiguous
/// one is dense.
quarry::Layout matrix(std::size_t bytes, Pattern pattern);
/// Bytes from the first element to the end of the last.
std::size_t span_of(const quarry::Layout& layout);

struct TransferPlan {
  std::size_t most_bytes;
  bool quick, is_cpu, has_managed;
};
/// All that is timed, in the order in which it is printed. No span exceeds most_bytes.
std::vector<TransferCase> transfer_cases(const TransferPlan& plan);

}  // namespace bench
