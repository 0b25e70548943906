// SPDX-License-Identifier: BSD-3-Clause
#include "fake_driver/copies/copy.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fake_driver/entry.hpp"
#include "fake_driver/state.hpp"
#include "fake_driver/streams/capture.hpp"

namespace quarry::fake {
namespace {

using Bytes = std::vector<std::byte>;

void move(std::byte* to, const std::byte* from, const Box& box) {
  for (std::size_t slice = 0; slice < box.slices; ++slice) {
    for (std::size_t row = 0; row < box.rows; ++row) {
      std::memmove(to + slice * box.to.slice + row * box.to.pitch,
                   from + slice * box.from.slice + row * box.from.pitch, box.bytes);
    }
  }
}

/// Where a side is kept now, or nullptr if its block has gone since the call.
std::byte* place(const Side& side, std::size_t span) {
  if (side.id == 0) return reinterpret_cast<std::byte*>(side.at);
  const auto found = state().memory.look(side.at, span);
  if (!found || found->block.id != side.id) return nullptr;
  return state().memory.find(side.at, span, -1);
}

CUresult run_copy(const Box& box) {
  std::byte* const to = place(box.to, box.span(box.to));
  const std::byte* const from = place(box.from, box.span(box.from));
  if (!to || !from) {
    add_fault("a queued copy touches memory that has been freed or is not there yet");
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  move(to, from, box);
  return CUDA_SUCCESS;
}

/// A copy whose source is kept in `bytes`, dense.
CUresult run_snapshot(Box box, const Bytes& bytes) {
  box.from = host_side(bytes.data());
  box.from.pitch = box.bytes;
  box.from.slice = box.bytes * box.rows;
  return run_copy(box);
}

std::shared_ptr<const Bytes> snapshot(const Box& box) {
  auto bytes = std::make_shared<Bytes>(box.total());
  Box dense = box;
  dense.to.pitch = box.bytes;
  dense.to.slice = box.bytes * box.rows;
  if (const std::byte* const from = place(box.from, box.span(box.from))) {
    move(bytes->data(), from, dense);
  }
  return bytes;
}

/// Finds the block of one side; false when there must be one and is not.
bool identify(Side& side, std::size_t span) {
  const auto found = state().memory.look(side.at, span);
  if (found) side.id = found->block.id;
  if (side.device >= 0 && found && found->block.device >= 0 && found->block.device != side.device) {
    return false;
  }
  return found || (!side.is_device && side.at != 0 && !state().memory.is_reserved(side.at));
}

bool is_valid(Box& box) {
  const auto is_apart = [&](const Side& side) {
    return (box.rows == 1 || side.pitch >= box.bytes) &&
           (box.slices == 1 || side.slice >= box.bytes);
  };
  const bool is_right = is_apart(box.to) && is_apart(box.from) &&
                        identify(box.to, box.span(box.to)) &&
                        identify(box.from, box.span(box.from));
  if (!is_right) {
    add_fault("a copy of " + std::to_string(box.total()) +
              " bytes leaves the memory that is there");
  }
  return is_right;
}

bool is_split(const Box& box) {
  const Memory& memory = state().memory;
  return memory.is_split(box.to.at, box.span(box.to)) ||
         memory.is_split(box.from.at, box.span(box.from));
}

int device_of(const Side& side) {
  const auto found = state().memory.look(side.at);
  return found ? found->block.device : -1;
}

void count(const Box& box) {
  const int to = device_of(box.to), from = device_of(box.from);
  const auto bytes = static_cast<std::int64_t>(box.total());
  const Guard lock(state().mutex);
  Statistics& total = state().statistics;
  ++total.copies;
  (!box.from.is_device ? total.bytes_to_device
   : !box.to.is_device ? total.bytes_to_host
                       : total.bytes_on_device) += bytes;
  if (to >= 0 && from >= 0 && to != from) total.bytes_between_devices += bytes;
}

std::function<CUresult()> work_of(const Box& box, bool is_read_now) {
  if (!is_read_now) return [=] { return run_copy(box); };
  return [=, bytes = snapshot(box)] { return run_snapshot(box, *bytes); };
}

double cost_ms(const Box& box) { return 0.001 + static_cast<double>(box.total()) * 1e-7; }

}  // namespace

/// A captured copy runs later, at every launch of the graph.
CUresult refuse_pageable(const Box& box, CUstream stream, bool waits) {
  const Guard lock(state().mutex);
  const auto queue = find_stream(stream);
  const bool is_later = !waits && box.from.id != 0 && box.to.id != 0;
  return queue && queue->capture && !is_later ? refuse_captured(*queue) : CUDA_SUCCESS;
}

Side host_side(const void* memory) { return {.at = reinterpret_cast<CUdeviceptr>(memory)}; }
Side device_side(CUdeviceptr address) { return {.at = address, .is_device = true}; }

CUresult copy(Box box, CUstream stream, bool waits) {
  if (const CUresult result = enter()) return result;
  if (box.total() == 0) return CUDA_SUCCESS;
  if (is_split(box) || !is_valid(box)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = refuse_pageable(box, stream, waits)) return result;
  count(box);
  const bool is_taken = waits && box.from.id == 0 && box.to.id != 0;
  if (is_taken) {
    if (const CUresult result = entry::stream_synchronize(stream)) return result;
  }
  Operation operation;
  operation.cost_ms = cost_ms(box);
  operation.mark = std::make_shared<Mark>();
  operation.work = work_of(box, box.from.id == 0);
  const std::shared_ptr<Mark> done = operation.mark;
  if (const CUresult result = enqueue(stream, std::move(operation))) return result;
  if (is_taken || (!waits && box.to.id != 0)) return CUDA_SUCCESS;
  state().scheduler.finish(*done);
  return state().scheduler.sticky(current_device());
}

CUresult copy_batch(std::span<const BatchedCopy> copies, CUstream stream) {
  std::vector<std::function<CUresult()>> works;
  Operation operation;
  for (const BatchedCopy& each : copies) {
    Box box = each.box;
    if (is_split(box) || !is_valid(box)) return CUDA_ERROR_INVALID_VALUE;
    box.from.is_device = device_of(box.from) >= 0;
    box.to.is_device = device_of(box.to) >= 0;
    count(box);
    operation.cost_ms += cost_ms(box);
    works.push_back(work_of(box, each.is_read_now));
  }
  std::shuffle(works.begin(), works.end(), std::mt19937_64(state().scheduler.random()));
  {
    const Guard lock(state().mutex);
    ++state().statistics.batches;
    state().statistics.batched_copies += static_cast<std::int64_t>(copies.size());
  }
  operation.work = [works = std::move(works)] {
    CUresult result = CUDA_SUCCESS;
    for (const auto& work : works) result = std::max(result, work());
    return result;
  };
  return enqueue(stream, std::move(operation));
}

}  // namespace quarry::fake
