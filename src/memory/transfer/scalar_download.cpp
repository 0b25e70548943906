// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/scalar_download.hpp"

#include <quarry/kernels/map.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/power_of_two.hpp"
#include "memory/host/polled_line.hpp"
#include "memory/transfer/strided_copy.hpp"
#include "memory/transfer/words.hpp"
#include "runtime/launch.hpp"

namespace quarry::memory {
namespace {

using Word = std::uint64_t;
/// What is there before the element is. An element that is the same is there when the stream is
/// done: it takes longer.
constexpr Word none = 0x8f3ad1c25be69470;

/// An element of 1 or 2 bytes becomes a word of 4, which is never the same as `none`.
const kernels::program& program_of(std::size_t size) {
  using namespace kernels;
  if (size == 1) return program_for<map_of<cast<u32, in<u8, 0>>, u32, 0, u8>>::value;
  if (size == 2) return program_for<map_of<cast<u32, in<u16, 0>>, u32, 0, u16>>::value;
  return copy_program_of(size);
}

/// The words of which `size` bytes are a part, or two.
bool are_there(const Word* words, std::size_t size) {
  if (size <= 4) {
    const auto* const half = reinterpret_cast<const std::uint32_t*>(words);
    return polled(half) != static_cast<std::uint32_t>(none);
  }
  return polled(words) != none && (size == 8 || polled(words + 1) != none);
}

/// Whether so many have been asked for that more are to be expected.
bool is_worth_a_kernel() {
  constexpr int few = 16;
  static std::atomic<int> asked = 0;
  return asked.load(std::memory_order_relaxed) >= few ||
         asked.fetch_add(1, std::memory_order_relaxed) >= few;
}
std::atomic<bool> can_compile = true;

}  // namespace

bool download_scalar(const HostCopy& copy, const Stream& stream) {
  const std::size_t size = copy.host.dtype.itemsize();
  const bool is_scalar = copy.waits && !copy.is_up() && copy.host.layout.shape.empty();
  if (!is_scalar || !is_power_of_two(size) || size > 16) return false;
  if (reinterpret_cast<std::uintptr_t>(copy.device.data) % size != 0) return false;
  if (!is_worth_a_kernel() || !can_compile.load(std::memory_order_relaxed)) return false;

  std::shared_ptr<Buffer> line;
  Word* words = nullptr;
  try {
    line = new_polled_line(stream);
    words = reinterpret_cast<Word*>(line->host_data());
    set_polled(words, none);
    set_polled(words + 1, none);
    const auto item = static_cast<std::int64_t>(size);
    const Layout to{{1}, {size < 4 ? 4 : item}}, from{{1}, {item}};
    const runtime::Operand operands[] = {{line->data(), &to}, {copy.device.data, &from}};
    runtime::launch_map(program_of(size), operands, nullptr, stream);
  } catch (const MemoryError&) {
    return false;
  } catch (const BackendUnavailable&) {
    can_compile.store(false, std::memory_order_relaxed);
    return false;
  }
  wait_for_line(
      stream, [&] { return are_there(words, size); }, [&] { synchronize(stream); });
  const Word found[] = {polled(words), polled(words + 1)};
  std::memcpy(copy.host.data, found, size);
  return true;
}

}  // namespace quarry::memory
