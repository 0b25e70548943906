// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/howto/resource.md and of the adaptors in docs/memory.md.
#include <quarry/memory/allocation_log.hpp>
#include <quarry/memory/external_manager.hpp>
#include <quarry/memory/failing.hpp>
#include <quarry/memory/limit.hpp>
#include <quarry/memory/red_zone.hpp>
#include <quarry/memory/statistics.hpp>
#include <quarry/memory/tracking.hpp>
#include <quarry/quarry.hpp>

#include "check.hpp"

#include <iostream>
#include <sstream>

namespace qy = quarry;

namespace {

// example-begin resource
/// Rounds requests up to whole pages of 2 MiB.
class WholePages {
 public:
  explicit WholePages(qy::Resource upstream) : upstream_(std::move(upstream)) {}

  void* allocate(const qy::Stream& stream, std::size_t bytes, std::size_t alignment) {
    return upstream_.allocate(stream, whole(bytes), alignment);
  }
  void deallocate(const qy::Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment) noexcept {
    upstream_.deallocate(stream, memory, whole(bytes), alignment);
  }
  qy::MemorySpace space() const { return upstream_.space(); }
  qy::Device device() const { return upstream_.device(); }

 private:
  static std::size_t whole(std::size_t bytes) {
    constexpr std::size_t page = std::size_t{2} << 20;
    return (bytes + page - 1) / page * page;
  }
  qy::Resource upstream_;
};
static_assert(qy::MemoryResource<WholePages>);
// example-end

void own_resource() {
  qy::Statistics below(qy::device_resource());
  {
    // example-begin use
    qy::ResourceGuard guard(WholePages{below});  // for the thread, to the end of the scope
    auto a = qy::zeros<float>({1000});
    // example-end
    CHECK(qy::sum(a).item() == 0);
  }
  CHECK(below.statistics().bytes.peak >= 2 << 20);
  CHECK(below.statistics().bytes.current == 0);
}

void stack() {
  // example-begin stack
  qy::Statistics stats(qy::Limit(qy::Pool(qy::device_resource()), 100'000'000));
  qy::ResourceGuard guard(stats);
  auto a = qy::ones<float>({1000});
  {
    auto scope = stats.scope();  // counts from here on
    qy::DeviceNDArray<float> b = a * 2.f;
    std::cout << to_string(scope.statistics()) << '\n';
  }
  auto peak = stats.statistics().bytes.peak;
  // example-end
  CHECK(peak == 8000);
}

void leaks() {
  std::ostringstream out;
  // example-begin leaks
  qy::Tracking tracked(qy::Pool::of(qy::get_current_device()), true);  // true: with call stacks
  {
    qy::ResourceGuard guard(tracked);
    auto a = qy::ones<float>({1000});
    tracked.report(out);  // "#1: 4000 bytes at 0x... of stream 0x0, allocated by ..."
  }
  // example-end
  CHECK(out.str().find("4000 bytes") != std::string::npos);
  CHECK(tracked.outstanding().empty());
}

void faults() {
  std::ostringstream file;
  bool refused = false;
  // example-begin faults
  qy::Failing failing(qy::Pool::of(qy::get_current_device()), {.nth = 2});
  qy::RedZone zoned(qy::AllocationLog(failing, file));
  {
    qy::ResourceGuard guard(zoned);
    auto a = qy::ones<float>({1000});
    try {
      auto b = qy::ones<float>({1000});
    } catch (const qy::MemoryError& e) {  // the second allocation
      refused = true;
    }
  }
  zoned.check();  // throws if a kernel wrote outside of an array, or into one that was freed
  // example-end
  CHECK(refused && file.str().find("allocate failure") != std::string::npos);
}

// example-begin manager
class Manager : public qy::HostOnlyMemoryManager {
 public:
  int interface_version() const override { return 1; }
  qy::MemoryPointer memalloc(std::size_t bytes) override {
    void* memory = below_.allocate(qy::default_stream(device()), bytes);
    return {memory, bytes, [below = below_, stream = qy::default_stream(device()), memory, bytes] {
              below.deallocate(stream, memory, bytes);
            }};
  }
  qy::MemoryInfo get_memory_info() override { return device().memory_info(); }

 private:
  qy::Resource below_ = qy::device_resource();  // stands for the other library
};
// example-end

void manager() {
  // example-begin set_manager
  qy::set_memory_manager(std::make_shared<Manager>());
  auto a = qy::ones<float>({1000});  // one memalloc(4000)
  qy::set_memory_manager(nullptr);   // a keeps its memory
  // example-end
  CHECK(qy::sum(a).item() == 1000);
}

}  // namespace

int main() {
  own_resource();
  stack();
  leaks();
  faults();
  manager();
}
