// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/memory/resource.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace quarry::detail {

/// Base of the adaptors: holds the upstream resource, and forwards its memory space, device and
/// trim(). `Self` has allocate, and deallocate with the streams that have used the memory. Copies
/// of an adaptor are handles to the same one, usable from any thread, and so is a moved-from
/// adaptor: without a move constructor here `Self` has none.
template <class Self>
class Adaptor {
 public:
  Adaptor(Adaptor&&) = delete;
  Adaptor& operator=(Adaptor&&) = delete;

  const Resource& upstream() const { return upstream_; }
  MemorySpace space() const { return upstream_.space(); }
  Device device() const { return upstream_.device(); }
  /// "limit of pool of device"
  std::string name() const { return std::string(Self::kind) + " of " + upstream_.name(); }
  void trim() const { upstream_.trim(); }
  void deallocate(const Stream& stream, void* memory, std::size_t bytes,
                  std::size_t alignment = Resource::default_alignment) const noexcept {
    static_cast<const Self&>(*this).deallocate(stream, {}, memory, bytes, alignment);
  }

 protected:
  explicit Adaptor(Resource upstream) : upstream_(std::move(upstream)) {}
  ~Adaptor() = default;
  Adaptor(const Adaptor&) = default;
  Adaptor& operator=(const Adaptor&) = default;

 private:
  Resource upstream_;
};

}  // namespace quarry::detail
