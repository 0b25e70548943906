// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/scalar_download.hpp"

#include <quarry/kernels/map.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "base/power_of_two.hpp"
#include "kernels/words.hpp"
#include "memory/host/polled_line.hpp"
#include "runtime/launch.hpp"

namespace quarry::memory {
namespace {

/// An element of 1 or 2 bytes becomes a word of 4, which never has the value of `no_element`. One
/// of 16 bytes is two words of 8.
const kernels::program& program_of(std::size_t size) {
  using namespace kernels;
  if (size == 1) return program_for<map_of<cast<u32, in<u8, 0>>, u32, 0, u8>>::value;
  if (size == 2) return program_for<map_of<cast<u32, in<u16, 0>>, u32, 0, u16>>::value;
  return kernels::copy_program_of(size == 4 ? 4 : 8);
}

/// Words for one element in a line, aligned to the element and no more, so that elements at all
/// addresses have one kernel.
template <class Word>
class PolledElement {
 public:
  PolledElement(std::size_t size, const Stream& stream)
      : size_(size),
        count_(std::max<std::size_t>(size / sizeof(Word), 1)),
        line_(new_polled_line(stream)) {
    for (std::size_t n = 0; n < count_; ++n) set_polled(word(n), none);
  }
  void queue(const std::byte* from, const Stream& stream) const {
    const auto count = static_cast<std::int64_t>(count_);
    const Layout here{{count}, {sizeof(Word)}};
    const Layout there{{count}, {static_cast<std::int64_t>(size_ / count_)}};
    const runtime::Operand operands[] = {{line_->data() + place(), &here}, {from, &there}};
    runtime::launch_map(program_of(size_), operands, nullptr, stream);
  }
  /// An element with the value of `no_element` is not told from one that is missing: it costs a
  /// wait for the stream.
  bool is_there() const {
    for (std::size_t n = 0; n < count_; ++n) {
      if (polled(word(n)) == none) return false;
    }
    return true;
  }
  /// Word by word: see polled().
  void take(std::byte* to) const {
    for (std::size_t n = 0; n < count_; ++n) {
      const Word found = polled(word(n));
      std::memcpy(to + n * sizeof found, &found, size_ / count_);
    }
  }

 private:
  static constexpr Word none = static_cast<Word>(no_element);
  std::size_t place() const { return std::max(size_, sizeof(Word)); }
  Word* word(std::size_t n) const {
    return reinterpret_cast<Word*>(line_->host_data() + place()) + n;
  }

  std::size_t size_, count_;
  std::shared_ptr<Buffer> line_;
};

/// Whether so many have been asked for that more are to be expected.
bool is_worth_a_kernel() {
  constexpr int few = 256;
  static std::atomic<int> asked = 0;
  return asked.load(std::memory_order_relaxed) >= few ||
         asked.fetch_add(1, std::memory_order_relaxed) >= few;
}
std::atomic<bool> can_compile = true;

template <class Word>
bool download_words(const HostCopy& copy, std::size_t size, const Stream& stream) {
  std::optional<PolledElement<Word>> element;
  try {
    element.emplace(size, stream);
    element->queue(copy.device.data, stream);
  } catch (const MemoryError&) {
    return false;
  } catch (const BackendUnavailable&) {
    can_compile.store(false, std::memory_order_relaxed);
    return false;
  } catch (const CompileError&) {
    can_compile.store(false, std::memory_order_relaxed);
    return false;
  }
  wait_for_line(
      stream, [&] { return element->is_there(); }, [&] { synchronize(stream); });
  element->take(copy.host.data);
  return true;
}

}  // namespace

bool download_scalar(const HostCopy& copy, const Stream& stream) {
  const std::size_t size = copy.host.dtype.itemsize();
  const bool is_scalar = copy.waits && !copy.is_up() && copy.host.layout.shape.empty();
  if (!is_scalar || !is_power_of_two(size) || size > 16) return false;
  if (reinterpret_cast<std::uintptr_t>(copy.device.data) % size != 0) return false;
  if (!is_device_accessible(copy.device.buffer->space())) return false;
  if (!is_worth_a_kernel() || !can_compile.load(std::memory_order_relaxed)) return false;
  return size <= 4 ? download_words<std::uint32_t>(copy, size, stream)
                   : download_words<std::uint64_t>(copy, size, stream);
}

}  // namespace quarry::memory
