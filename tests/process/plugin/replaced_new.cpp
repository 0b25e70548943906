// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <quarry/quarry.hpp>

/// A program whose operator new and delete are its own: the library uses them too, so that each
/// frees what the other has allocated.
namespace {

std::int64_t allocations = 0;

/// Before every block.
struct Header {
  void* memory;
  std::uint64_t mark;
};
constexpr std::uint64_t own_mark = 0x6f776e206e657721;

void* allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t ahead = std::max(alignment, sizeof(Header));
  void* const memory = std::aligned_alloc(ahead, (bytes + 2 * ahead - 1) / ahead * ahead);
  if (!memory) throw std::bad_alloc();
  ++allocations;
  char* const block = static_cast<char*>(memory) + ahead;
  *(reinterpret_cast<Header*>(block) - 1) = {memory, own_mark};
  return block;
}

void release(void* block) noexcept {
  if (!block) return;
  Header& header = *(static_cast<Header*>(block) - 1);
  if (header.mark != own_mark) {
    std::fputs("operator delete of the program got a block of another operator new\n", stderr);
    std::_Exit(3);
  }
  header.mark = 0;
  std::free(header.memory);
}

}  // namespace

void* operator new(std::size_t n) { return allocate(n, alignof(std::max_align_t)); }
void* operator new(std::size_t n, std::align_val_t a) {
  return allocate(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { release(p); }
void operator delete(void* p, std::size_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { release(p); }

int main() {
  const auto a = quarry::arange<float>(10);
  if (quarry::sum(a * 2.f).item() != 90) return 1;
  const std::int64_t before = allocations;
  const auto attributes = quarry::Device::cpu().attributes();  // allocated there, freed here
  const std::int64_t in_the_library = allocations - before;
  std::printf("%zu attributes, %lld allocations\n", attributes.size(),
              static_cast<long long>(in_the_library));
  return in_the_library >= static_cast<std::int64_t>(attributes.size()) ? 0 : 2;
}
