// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/emulated_blocks.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <semaphore>
#include <set>
#include <thread>

#include <pthread.h>

#include "kernels/fibre.hpp"

namespace quarry::test {
namespace {

constexpr unsigned warp_size = 32;

/// A shuffle or a match that some threads of a warp have reached; a match has no distance.
struct Exchange {
  unsigned arrived = 0, distance = 0, lanes = 0;
  int width = 0;
  std::uint32_t mask = 0;
  std::uint64_t value[warp_size] = {};
};

/// A thread may reach the next one before the others have read the values of this one.
struct Warp {
  Exchange exchange[2];
  unsigned done = 0;
};

/// One block: its threads, which of them can run, and what the others wait at.
class Block {
 public:
  Block(const Position& first, std::uint64_t seed, std::vector<std::unique_ptr<Fibre>>& fibres,
        std::set<std::string>& faults)
      : position_(first), random_(seed), fibres_(fibres), faults_(faults) {}

  void run(const std::function<void()>& thread);
  void barrier();
  std::uint32_t shuffle_down(std::uint32_t mask, std::uint32_t value, unsigned distance, int width);
  std::uint32_t shuffle_up(std::uint32_t mask, std::uint32_t value, unsigned distance, int width);
  std::uint32_t match_any(std::uint32_t mask, std::uint64_t value);
  const Position& position() const { return position_; }
  unsigned lane() const { return running_ % warp_size; }
  const Exchange& exchange(std::uint32_t mask, std::uint64_t value, unsigned distance, int width);

 private:
  unsigned count() const { return position_.block_size.x * position_.block_size.y; }
  void enter(unsigned thread);
  void wait() { fibres_[running_]->leave(); }

  Position position_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Fibre>>& fibres_;
  std::set<std::string>& faults_;
  std::vector<unsigned> ready_, at_barrier_;
  std::vector<Warp> warps_;
  unsigned running_ = 0;
};

thread_local Block* current = nullptr;

/// Gives new threads another MiB of stack. Thread-local memory, which shared memory is here, lies
/// in a thread's stack too: where it is larger than the usual 8 MiB, glibc leaves a few KiB beside
/// it.
void enlarge_stacks() {
  pthread_attr_t attributes;
  std::size_t bytes = 0;
  pthread_getattr_default_np(&attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_setstacksize(&attributes, bytes + (std::size_t{1} << 20));
  pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

/// Threads for blocks that run at once. They stay for the next launch: a new one clears the shared
/// memory of every kernel in the program, tens of MB.
class Workers {
 public:
  Workers() { enlarge_stacks(); }
  /// `work` runs in `count` threads, and has ended in all of them on return.
  void run(unsigned count, const std::function<void()>& work) {
    while (workers_.size() < count) workers_.push_back(std::make_unique<Worker>());
    for (unsigned k = 0; k < count; ++k) workers_[k]->start(&work);
    for (unsigned k = 0; k < count; ++k) workers_[k]->has_ended.acquire();
  }

 private:
  struct Worker {
    const std::function<void()>* work = nullptr;  ///< none at the end
    std::binary_semaphore has_work{0}, has_ended{0};
    std::jthread thread{[this] {
      for (has_work.acquire(); work; has_work.acquire()) {
        (*work)();
        has_ended.release();
      }
    }};

    void start(const std::function<void()>* next) {
      work = next;
      has_work.release();
    }
    ~Worker() { start(nullptr); }
  };

  std::vector<std::unique_ptr<Worker>> workers_;
};

void Block::enter(unsigned thread) {
  running_ = thread;
  position_.thread = {thread % position_.block_size.x, thread / position_.block_size.x, 0};
  fibres_[thread]->enter();
}

void Block::run(const std::function<void()>& thread) {
  warps_.resize((count() + warp_size - 1) / warp_size);
  while (fibres_.size() < count()) fibres_.push_back(std::make_unique<Fibre>());
  for (unsigned t = 0; t < count(); ++t) {
    fibres_[t]->start(thread);
    ready_.push_back(t);
  }
  for (unsigned ended = 0; !ready_.empty();) {
    std::swap(ready_[random_() % ready_.size()], ready_.back());
    const unsigned next = ready_.back();
    ready_.pop_back();
    enter(next);
    if (fibres_[next]->is_done()) ++ended;
    if (ready_.empty() && ended < count()) {
      faults_.insert("a thread ends, or waits elsewhere, while others wait for it");
      for (unsigned t = 0; t < count(); ++t) {
        if (!fibres_[t]->is_done()) fibres_[t] = std::make_unique<Fibre>();
      }
    }
  }
}

void Block::barrier() {
  at_barrier_.push_back(running_);
  if (at_barrier_.size() == count()) {
    ready_.swap(at_barrier_);  // nobody else can run: all wait here
  }
  wait();
}

const Exchange& Block::exchange(std::uint32_t mask, std::uint64_t value, unsigned distance,
                                int width) {
  Warp& warp = warps_[running_ / warp_size];
  Exchange& exchange = warp.exchange[warp.done % 2];
  const unsigned lane = running_ % warp_size, begin = running_ - lane;
  const unsigned lanes = std::min(warp_size, count() - begin);
  if (exchange.arrived == 0) {
    exchange.distance = distance;
    exchange.width = width;
    exchange.mask = mask;
    exchange.lanes = lanes;
  } else if (exchange.distance != distance || exchange.width != width || exchange.mask != mask) {
    faults_.insert("threads of a warp exchange values in different ways");
  }
  if (mask != 0xffffffffu) faults_.insert("an exchange of part of a warp");
  exchange.value[lane] = value;
  if (++exchange.arrived == lanes) {
    exchange.arrived = 0;
    ++warp.done;
    for (unsigned l = 0; l < lanes; ++l) ready_.push_back(begin + l);
  }
  wait();
  return exchange;
}

std::uint32_t Block::shuffle_down(std::uint32_t mask, std::uint32_t value, unsigned distance,
                                  int width) {
  const Exchange& all = exchange(mask, value, distance, width);
  const unsigned lane = running_ % warp_size;
  const unsigned place = lane % static_cast<unsigned>(width) + distance;
  const bool is_inside = place < static_cast<unsigned>(width) && lane + distance < all.lanes;
  return static_cast<std::uint32_t>(all.value[is_inside ? lane + distance : lane]);
}

std::uint32_t Block::shuffle_up(std::uint32_t mask, std::uint32_t value, unsigned distance,
                                int width) {
  const Exchange& all = exchange(mask, value, distance, width);
  const bool is_inside = lane() % static_cast<unsigned>(width) >= distance;
  return static_cast<std::uint32_t>(all.value[is_inside ? lane() - distance : lane()]);
}

std::uint32_t Block::match_any(std::uint32_t mask, std::uint64_t value) {
  const Exchange& all = exchange(mask, value, 0, 0);
  std::uint32_t equal = 0;
  for (unsigned l = 0; l < all.lanes; ++l) equal |= std::uint32_t{all.value[l] == value} << l;
  return equal;
}

}  // namespace

const Position& position() { return current->position(); }
void barrier() { current->barrier(); }
std::uint32_t shuffle_down(std::uint32_t mask, std::uint32_t value, unsigned distance, int width) {
  return current->shuffle_down(mask, value, distance, width);
}
std::uint32_t shuffle_up(std::uint32_t mask, std::uint32_t value, unsigned distance, int width) {
  return current->shuffle_up(mask, value, distance, width);
}
std::uint32_t shuffle(std::uint32_t mask, std::uint32_t value, unsigned lane) {
  return static_cast<std::uint32_t>(current->exchange(mask, value, 0, -1).value[lane]);
}
std::uint32_t shuffle_xor(std::uint32_t mask, std::uint32_t value, unsigned lanes) {
  const Exchange& all = current->exchange(mask, value, lanes, -2);
  return static_cast<std::uint32_t>(all.value[current->lane() ^ lanes]);
}
std::uint32_t largest_of_warp(std::uint32_t mask, std::uint32_t value) {
  const Exchange& all = current->exchange(mask, value, 0, -4);
  return static_cast<std::uint32_t>(*std::max_element(all.value, all.value + all.lanes));
}
std::uint32_t smallest_of_warp(std::uint32_t mask, std::uint32_t value) {
  const Exchange& all = current->exchange(mask, value, 0, -5);
  return static_cast<std::uint32_t>(*std::min_element(all.value, all.value + all.lanes));
}
std::uint32_t ballot(std::uint32_t mask, bool value) {
  const Exchange& all = current->exchange(mask, value ? 1 : 0, 0, -3);
  std::uint32_t bits = 0;
  for (unsigned l = 0; l < all.lanes; ++l) bits |= static_cast<std::uint32_t>(all.value[l]) << l;
  return bits;
}
std::uint32_t match_any(std::uint32_t mask, std::uint64_t value) {
  return current->match_any(mask, value);
}

std::vector<std::string> launch(const Grid& grid, std::uint64_t seed,
                                const std::function<void()>& thread) {
  std::set<std::string> faults;
  std::mt19937_64 random(seed);
  std::vector<unsigned> blocks(grid.grid.x * grid.grid.y);
  for (unsigned b = 0; b < blocks.size(); ++b) blocks[b] = b;
  std::ranges::shuffle(blocks, random);
  std::mutex mutex;  // of the three above
  const auto run = [&] {
    // a stack costs more to make than to keep
    static thread_local std::vector<std::unique_ptr<Fibre>> fibres;
    for (;;) {
      std::unique_lock lock(mutex);
      if (blocks.empty()) return;
      const unsigned b = blocks.back();
      blocks.pop_back();
      const std::uint64_t block_seed = random();
      lock.unlock();
      std::set<std::string> found;
      Block block({{}, {b % grid.grid.x, b / grid.grid.x, 0}, grid.grid, grid.block}, block_seed,
                  fibres, found);
      current = &block;
      block.run(thread);
      current = nullptr;
      lock.lock();
      faults.merge(found);
    }
  };
  if (grid.at_once == 1) {
    run();
  } else {
    static Workers workers;
    workers.run(grid.at_once, run);
  }
  return {faults.begin(), faults.end()};
}

}  // namespace quarry::test
