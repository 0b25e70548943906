// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/resource.hpp>

namespace quarry {

std::string to_string(MemorySpace space) {
  switch (space) {
    case MemorySpace::device:
      return "device";
    case MemorySpace::pinned:
      return "pinned";
    case MemorySpace::mapped:
      return "mapped";
    case MemorySpace::managed:
      return "managed";
    case MemorySpace::host:
      break;
  }
  return "host";
}

void Resource::throw_empty() { throw LogicError("a memory resource that is nullptr"); }

}  // namespace quarry
