// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "memory/staged/job.hpp"
#include "memory/staged/staging.hpp"
#include "memory/staged/staging_lease.hpp"
#include "memory/staged/thresholds.hpp"

namespace quarry::memory {

/// A staged copy. Chunks go through a few buffers in turn, and all threads
/// work on the same chunk: they take its blocks in order, and whoever finishes the last block of a
/// chunk queues the GPU's copy. Only one thread waits for the GPU, the others for that thread.
class PipelinedCopy final : public Job {
 public:
  /// `buffers` is not empty and lives as long as the copying; the chunks end at `ends`.
  PipelinedCopy(const StagedCopy& copy, const Stream& stream, std::vector<StagingLease>& buffers,
                std::vector<std::size_t> ends);

  /// To be called once.
  void run();

 private:
  /// Of the copy between a chunk's buffer and the GPU.
  enum class State { none, queued, awaited, done };
  struct Chunk {
    std::size_t first = 0, last = 0;
    std::size_t first_block = 0;  ///< its number
    std::byte* memory = nullptr;  ///< in its buffer
    std::atomic<std::size_t> blocks_left = 0;
    std::atomic<State> state = State::none;
  };
  struct Block {
    std::size_t chunk, first, last;
  };

  void do_share(Share& share) override;
  Block block(std::size_t number) const;
  bool await(std::size_t chunk);
  bool make_ready(std::size_t chunk);
  void carry(const Block& block);
  void queue(std::size_t chunk);
  StagingLease& buffer(std::size_t chunk) const { return buffers_[chunk % buffers_.size()]; }
  std::byte* place(const Block& b) const {
    return chunks_[b.chunk].memory + (b.first - chunks_[b.chunk].first);
  }

  const StagedCopy copy_;
  const Stream& stream_;
  std::vector<StagingLease>& buffers_;
  const bool up_;
  const Stores stores_;
  const std::size_t block_bytes_, threads_;
  const std::vector<std::size_t> ends_;
  std::unique_ptr<Chunk[]> chunks_;
};

}  // namespace quarry::memory
