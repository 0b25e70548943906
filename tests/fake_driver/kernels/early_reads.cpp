// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/kernels/early_reads.hpp"

#include <algorithm>

#include "fake_driver/kernels/kernel.hpp"
#include "fake_driver/kernels/tiled_map.hpp"

namespace quarry::fake {
namespace {

/// The bytes that operand k has along the first `axes` axes of the launch.
Bytes bytes_of(const Launch& launch, int k, int axes) {
  if (launch.name.kernel->name == "map_tiled") return bytes_of_tiled(launch, k);
  const kernels::block_places places = launch.places();
  const std::uint32_t size = launch.program->itemsize[k];
  const std::uint64_t begin = launch.pointer(k);
  if (launch.rank() == 0) {
    const auto kept = static_cast<std::uint64_t>(launch.word(kernels::block_places::kept));
    return {begin, begin + kept * size};
  }
  return bytes_reached(begin, size, axes, [&](int axis) {
    return (launch.word(places.shape() + axis) - 1) *
           launch.word(places.strides() + k * launch.rank() + axis);
  });
}

}  // namespace

KernelAccess::KernelAccess(const Launch& launch, bool early) {
  const std::string_view family = launch.name.kernel->family, name = launch.name.kernel->name;
  const bool is_map = family == "map", is_reduction = family == "reduce";
  const bool has_order = name == "map_tiled" || (is_reduction && name != "reduce_finish");
  const std::uint64_t order = has_order ? launch.more.back() : 0;
  begins = {early, (order & kernels::order_reads_ahead) != 0,
            (order & kernels::order_waits_first) != 0};
  const kernels::program& program = *launch.program;
  for (int k = 0; k < program.operands(); ++k) {
    if (!(is_map || is_reduction) || program.is_side(static_cast<std::size_t>(k))) {
      writes_anything = true;
    } else if (k >= program.outputs) {
      reads.push_back(bytes_of(launch, k, launch.rank()));
    } else if (is_map) {
      writes.push_back(bytes_of(launch, k, launch.rank()));
    } else if (name == "reduce_finish" || name == "reduce_and_finish" || name == "reduce_few" ||
               name == "reduce_slabs" ||
               launch.more[0] == 0) {  // else partial results, which only Quarry's kernels read
      writes.push_back(bytes_of(launch, k, launch.argument(0)));
    }
  }
}

bool UnfinishedWork::may_write(const Bytes& bytes) const {
  return writes_anything_ || std::ranges::any_of(writes_, [&](const Bytes& w) {
           return w.begin < bytes.end && bytes.begin < w.end;
         });
}

bool UnfinishedWork::add(const KernelAccess* kernel) {
  if (!kernel) {
    writes_anything_ = true;
    return true;
  }
  const Beginning& begins = kernel->begins;
  if (!begins.is_early || begins.waits_first) writes_anything_ = false, writes_.clear();
  const bool reads_unwritten =
      begins.reads_ahead &&
      std::ranges::any_of(kernel->reads, [&](const Bytes& bytes) { return may_write(bytes); });
  writes_anything_ |= kernel->writes_anything;
  writes_.insert(writes_.end(), kernel->writes.begin(), kernel->writes.end());
  return !reads_unwritten;
}

}  // namespace quarry::fake
