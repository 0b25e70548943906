// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/quarry.hpp>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "memory/staged/staging_pool.hpp"
#include "memory/staged/thresholds.hpp"

/// Layouts of every kind in a block of bytes, and a page-locked pool so small that arrays of a few
/// kilobytes go through all of it.
namespace quarry::test {

/// Small thresholds for the current device while it lives.
class TinyStagingPool {
 public:
  TinyStagingPool() : device_(Device().backend()), before_(memory::thresholds_of(device_)) {
    memory::trim_staging(device_);
    memory::TransferThresholds tiny;
    tiny.staged_bytes = 512;
    tiny.taken_bytes = 128;
    tiny.chunk_bytes = 900;  // cuts elements of every size
    tiny.buffers = 3;
    tiny.block_bytes = 250;
    tiny.threads = 3;
    tiny.strided_threads = 3;
    tiny.nontemporal_bytes = tiny.nontemporal_strided_bytes = 2000;
    tiny.row_bytes = 64;
    tiny.few_rows = 2;
    tiny.piece_bytes = 64;
    tiny.probe_bytes = 64;
    memory::set_thresholds(device_, tiny);
  }
  ~TinyStagingPool() {
    memory::trim_staging(device_);
    memory::set_thresholds(device_, before_);
  }
  TinyStagingPool(const TinyStagingPool&) = delete;
  TinyStagingPool& operator=(const TinyStagingPool&) = delete;

 private:
  backend::Device& device_;
  memory::TransferThresholds before_;
};

/// Elements in a block of bytes: element 0 is at `first`, all lie below `bytes`.
struct Placed {
  std::string name;
  Layout layout;
  std::int64_t first = 0, bytes = 0;
};

/// A view with these axis strides (in elements, any sign) with some bytes left around it.
inline Placed placed(std::string name, const Shape& shape, std::vector<std::int64_t> steps,
                     std::size_t itemsize) {
  Placed p{std::move(name), {shape, {}}, 0, 0};
  for (const std::int64_t s : steps) {
    p.layout.strides.push_back(s * static_cast<std::int64_t>(itemsize));
  }
  const ByteBounds bounds = byte_bounds(p.layout, itemsize);
  const auto margin = static_cast<std::int64_t>(3 * itemsize);
  p.first = margin - bounds.lowest;
  p.bytes = bounds.past - bounds.lowest + 2 * margin;
  return p;
}

/// Of a shape of three axes.
inline std::vector<Placed> placements(const Shape& shape, std::size_t itemsize) {
  const std::int64_t a = shape[0], b = shape[1], c = shape[2];
  return {placed("C", shape, {b * c, c, 1}, itemsize),
          placed("F", shape, {1, a, a * b}, itemsize),
          placed("transposed", shape, {c, a * c, 1}, itemsize),
          placed("every other", shape, {2 * b * c, 2 * c, 2}, itemsize),
          placed("reversed", shape, {-b * c, -c, -1}, itemsize),
          placed("partly reversed", shape, {b * c, -c, 1}, itemsize),
          placed("column block", shape, {b * (c + 5), c + 5, 1}, itemsize),
          placed("row block", shape, {(b + 2) * c, c, 1}, itemsize),
          placed("block of blocks", shape, {(b + 2) * (c + 3), c + 3, 1}, itemsize),
          placed("rolled", shape, {2, 2 * a * c, 2 * a}, itemsize)};
}
inline std::vector<Placed> repeating(const Shape& shape, std::size_t itemsize) {
  const std::int64_t c = shape[2];
  return {placed("rows repeat", shape, {0, c, 1}, itemsize),
          placed("columns repeat", shape, {shape[1], 1, 0}, itemsize),
          placed("one element", shape, {0, 0, 0}, itemsize)};
}

/// Byte offsets of all elements in C order, by plain loops.
inline std::vector<std::int64_t> offsets(const Placed& p) {
  std::vector<std::int64_t> all{p.first};
  for (std::size_t d = 0; d < p.layout.rank(); ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t at : all) {
      for (std::int64_t i = 0; i < p.layout.shape[d]; ++i) {
        next.push_back(at + i * p.layout.strides[d]);
      }
    }
    all = std::move(next);
  }
  return all;
}

using Bytes = std::vector<std::byte>;

inline Bytes pattern(std::int64_t bytes, unsigned salt) {
  Bytes all(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::byte>((i * 2654435761u + salt * 97u) >> 7);
  }
  return all;
}

/// `to` after all elements have been copied into it.
inline Bytes copied(Bytes to, const Placed& there, const Bytes& from, const Placed& here,
                    std::size_t itemsize) {
  const auto out = offsets(there), in = offsets(here);
  for (std::size_t k = 0; k < out.size(); ++k) {
    std::memcpy(to.data() + out[k], from.data() + in[k], itemsize);
  }
  return to;
}

/// Host memory, page-locked or not, with these bytes.
class HostBlock {
 public:
  HostBlock(const Bytes& bytes, bool page_locked) : size_(bytes.size()) {
    if (page_locked) {
      locked_ = Buffer::allocate(size_, default_stream(), pinned_resource());
    } else {
      pageable_.resize(size_);
    }
    std::memcpy(data(), bytes.data(), size_);
  }
  std::byte* data() { return locked_ ? locked_->host_data() : pageable_.data(); }
  Bytes bytes() { return Bytes(data(), data() + size_); }

 private:
  std::size_t size_;
  std::shared_ptr<Buffer> locked_;
  Bytes pageable_;
};

/// Device memory with these bytes.
class DeviceBlock {
 public:
  explicit DeviceBlock(const Bytes& bytes) : array_(to_device(bytes_of(bytes))) {}
  DeviceRef at(const Placed& p, DType type) const {
    return {array_.device_pointer() + p.first, type, p.layout, array_.buffer().get()};
  }
  Bytes bytes() const {
    std::vector<std::uint8_t> all(static_cast<std::size_t>(array_.size()));
    array_.copy_to_host(all);
    Bytes result(all.size());
    std::memcpy(result.data(), all.data(), all.size());
    return result;
  }

 private:
  static std::vector<std::uint8_t> bytes_of(const Bytes& bytes) {
    std::vector<std::uint8_t> all(bytes.size());
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
  DeviceNDArray<std::uint8_t> array_;
};

}  // namespace quarry::test
