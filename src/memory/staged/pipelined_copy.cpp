// SPDX-License-Identifier: BSD-3-Clause
#include "memory/staged/pipelined_copy.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "memory/staged/chunks.hpp"

namespace quarry::memory {
namespace {

using enum backend::Direction;

std::size_t count_blocks(const std::vector<std::size_t>& ends, std::size_t block_bytes) {
  std::size_t first = 0, count = 0;
  for (const std::size_t end : ends)
    count += blocks_of(end - std::exchange(first, end), block_bytes);
  return count;
}

}  // namespace

PipelinedCopy::PipelinedCopy(const StagedCopy& copy, const Stream& stream,
                             std::vector<StagingLease>& buffers, std::vector<std::size_t> ends)
    : Job(count_blocks(ends, block_for(copy.walk->bytes(), *copy.thresholds))),
      copy_(copy),
      stream_(stream),
      buffers_(buffers),
      up_(copy.direction == host_to_device),
      stores_(stores_for(*copy.walk, up_, *copy.thresholds)),
      block_bytes_(block_for(copy.walk->bytes(), *copy.thresholds)),
      threads_(threads_for(*copy.walk, up_, *copy.thresholds)),
      ends_(std::move(ends)),
      chunks_(std::make_unique<Chunk[]>(ends_.size())) {
  std::size_t first = 0, first_block = 0;
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    Chunk& c = chunks_[k];
    c.first = std::exchange(first, ends_[k]);
    c.last = ends_[k];
    c.blocks_left = blocks_of(c.last - c.first, block_bytes_);
    c.first_block = std::exchange(first_block, first_block + c.blocks_left);
    c.memory = buffer(k).place(c.last - c.first);
  }
}

void PipelinedCopy::run() {
  if (!up_) {
    for (std::size_t k = 0; k < std::min(buffers_.size(), ends_.size()); ++k) queue(k);
  }
  Job::run(threads_);
}

void PipelinedCopy::do_share(Share& share) {
  for (std::size_t number; share.take(number);) {
    const Block b = block(number);
    if (!make_ready(b.chunk)) return;
    carry(b);
  }
}

PipelinedCopy::Block PipelinedCopy::block(std::size_t number) const {
  const Chunk* const after =
      std::upper_bound(chunks_.get(), chunks_.get() + ends_.size(), number,
                       [](std::size_t n, const Chunk& chunk) { return n < chunk.first_block; });
  const Chunk& c = after[-1];
  const std::size_t first = c.first + (number - c.first_block) * block_bytes_;
  return {static_cast<std::size_t>(&c - chunks_.get()), first,
          std::min(first + block_bytes_, c.last)};
}

/// Whether the chunk's buffer can be filled (up) or has been filled (down). False: the copy failed.
bool PipelinedCopy::make_ready(std::size_t chunk) {
  if (!up_) return await(chunk);
  return chunk < buffers_.size() || await(chunk - buffers_.size());
}

/// Waits until the GPU's copy of the chunk is done. It is queued by threads that took their blocks
/// earlier and so never wait for this one: no deadlock.
bool PipelinedCopy::await(std::size_t chunk) {
  std::atomic<State>& state = chunks_[chunk].state;
  while (true) {
    State now = state.load(std::memory_order_acquire);
    if (now == State::done) return true;
    if (has_failed()) return false;
    if (now == State::queued && state.compare_exchange_strong(now, State::awaited)) {
      buffer(chunk).wait();
      state.store(State::done, std::memory_order_release);
      return true;
    }
    std::this_thread::yield();
  }
}

void PipelinedCopy::carry(const Block& b) {
  if (up_) {
    copy_.take(b.first, b.last, place(b), stores_);
  } else {
    unpack(*copy_.walk, copy_.on_host, b.first, b.last, place(b), stores_);
  }
  if (chunks_[b.chunk].blocks_left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const std::size_t next = up_ ? b.chunk : b.chunk + buffers_.size();
  if (next < ends_.size()) queue(next);
}

void PipelinedCopy::queue(std::size_t chunk) {
  const Chunk& c = chunks_[chunk];
  std::byte* const device = copy_.on_device + c.first;
  if (up_) {
    buffer(chunk).copy({host_to_device, device, c.memory, c.last - c.first}, stream_);
  } else {
    buffer(chunk).copy({device_to_host, c.memory, device, c.last - c.first}, stream_);
  }
  chunks_[chunk].state.store(State::queued, std::memory_order_release);
}

}  // namespace quarry::memory
