// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/transfer.hpp>

#include <algorithm>
#include <chrono>
#include <memory>

#include "memory/staged/staging.hpp"
#include "memory/staged/staging_pool.hpp"
#include "memory/staged/thresholds.hpp"
#include "runtime/stream_lifetime.hpp"
#include "runtime/stream_state.hpp"

namespace quarry {
namespace {

using enum backend::Direction;

constexpr std::size_t least = std::size_t{128} << 10, most = std::size_t{4} << 20;
constexpr int rounds = 4;

/// Times pageable copies of some sizes, by the driver and through the pool.
class Probe {
 public:
  explicit Probe(const Device& device)
      : stream_(detail::created_stream(device.backend(), backend::StreamOrder::behind_events)),
        backend_(*stream_.state().device),
        thresholds_(memory::thresholds_of(backend_)),
        there_(Buffer::allocate(most, stream_)),
        here_(std::make_unique<std::byte[]>(most)) {}

  /// The size from which on the pool is faster in both directions.
  std::size_t crossing() {
    std::size_t found = 2 * most;
    for (std::size_t bytes = most; bytes >= least; bytes /= 2) {
      const bool faster = staged(host_to_device, bytes) < direct(host_to_device, bytes) &&
                          staged(device_to_host, bytes) < direct(device_to_host, bytes);
      if (!faster) break;
      found = bytes;
    }
    return found;
  }

 private:
  using Clock = std::chrono::steady_clock;

  template <class F>
  static Clock::duration best_of(F f) {
    auto best = Clock::duration::max();
    for (int i = 0; i < rounds; ++i) {
      const auto begin = Clock::now();
      f();
      best = std::min(best, Clock::now() - begin);
    }
    return best;
  }

  Clock::duration direct(backend::Direction direction, std::size_t bytes) {
    void *to = there_->data(), *from = here_.get();
    if (direction == device_to_host) std::swap(to, from);
    return best_of([&] {
      backend_.copy({direction, to, from, bytes}, stream_.state().native, true);
    });
  }
  Clock::duration staged(backend::Direction direction, std::size_t bytes) {
    const memory::Walk walk{{}, {}, bytes};
    const Stream beside = memory::StagingPool::of(backend_).stream(direction);
    return best_of([&] {
      memory::run_staged(
          {&backend_, direction, there_->data(), here_.get(), &walk, &thresholds_, true}, beside);
    });
  }

  const Stream stream_;
  backend::Device& backend_;
  const memory::TransferThresholds thresholds_;
  const std::shared_ptr<Buffer> there_;
  const std::unique_ptr<std::byte[]> here_;
};

}  // namespace

void calibrate_transfers(const Device& device) {
  if (device.is_cpu()) return;
  memory::TransferThresholds thresholds = memory::thresholds_of(device.backend());
  thresholds.staged_bytes = Probe(device).crossing();
  memory::set_thresholds(device.backend(), thresholds);
}

}  // namespace quarry
