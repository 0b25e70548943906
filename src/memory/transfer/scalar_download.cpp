// SPDX-License-Identifier: BSD-3-Clause
#include "memory/transfer/scalar_download.hpp"

#include <quarry/kernels/map.hpp>

#include <algorithm>
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

/// An element of 1 or 2 bytes becomes a word of 4, which never has the value of `no_element`. One
/// of 16 bytes is two words of 8.
const kernels::program& program_of(std::size_t size) {
  using namespace kernels;
  if (size == 1) return program_for<map_of<cast<u32, in<u8, 0>>, u32, 0, u8>>::value;
  if (size == 2) return program_for<map_of<cast<u32, in<u16, 0>>, u32, 0, u16>>::value;
  return copy_program_of(size == 4 ? 4 : 8);
}

/// An element with the value of `no_element` is not told from one that is missing: it costs a wait
/// for the stream.
bool is_there(const std::byte* at, std::size_t size) {
  if (size <= 4) {
    return polled(reinterpret_cast<const std::uint32_t*>(at)) !=
           static_cast<std::uint32_t>(no_element);
  }
  const auto* const words = reinterpret_cast<const Word*>(at);
  return polled(words) != no_element && (size == 8 || polled(words + 1) != no_element);
}

/// Copies one that is there, word by word: see polled().
void take(const std::byte* at, std::size_t size, std::byte* to) {
  if (size <= 4) {
    const auto word = polled(reinterpret_cast<const std::uint32_t*>(at));
    std::memcpy(to, &word, size);
    return;
  }
  for (std::size_t done = 0; done < size; done += sizeof(Word)) {
    const Word word = polled(reinterpret_cast<const Word*>(at + done));
    std::memcpy(to + done, &word, sizeof word);
  }
}

/// Where an element is in its line: aligned to it and no more, so that elements at all addresses
/// have one kernel.
std::size_t place_of(std::size_t size) { return std::max<std::size_t>(size, 4); }

/// Queues the kernel that writes the element to a line.
std::shared_ptr<Buffer> queued(const HostCopy& copy, std::size_t size, const Stream& stream) {
  std::shared_ptr<Buffer> line = new_polled_line(stream);
  std::byte* const at = line->host_data() + place_of(size);
  if (size <= 4)
    set_polled(reinterpret_cast<std::uint32_t*>(at), static_cast<std::uint32_t>(no_element));
  else
    set_polled(reinterpret_cast<Word*>(at), no_element);
  if (size == 16) set_polled(reinterpret_cast<Word*>(at) + 1, no_element);

  const std::int64_t word = size == 16 ? 8 : static_cast<std::int64_t>(size);
  const std::int64_t count = size == 16 ? 2 : 1;
  const Layout from{{count}, {word}}, to{{count}, {std::max<std::int64_t>(word, 4)}};
  const runtime::Operand operands[] = {{line->data() + place_of(size), &to},
                                       {copy.device.data, &from}};
  runtime::launch_map(program_of(size), operands, nullptr, stream);
  return line;
}

/// Whether so many have been asked for that more are to be expected.
bool is_worth_a_kernel() {
  constexpr int few = 256;
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
  if (!is_device_accessible(copy.device.buffer->space())) return false;
  if (!is_worth_a_kernel() || !can_compile.load(std::memory_order_relaxed)) return false;

  std::shared_ptr<Buffer> line;
  try {
    line = queued(copy, size, stream);
  } catch (const MemoryError&) {
    return false;
  } catch (const BackendUnavailable&) {
    can_compile.store(false, std::memory_order_relaxed);
    return false;
  } catch (const CompileError&) {
    can_compile.store(false, std::memory_order_relaxed);
    return false;
  }
  const std::byte* const at = line->host_data() + place_of(size);
  wait_for_line(
      stream, [&] { return is_there(at, size); }, [&] { synchronize(stream); });
  take(at, size, copy.host.data);
  return true;
}

}  // namespace quarry::memory
