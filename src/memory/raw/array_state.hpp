// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/array_descriptor.hpp>
#include <quarry/memory/buffer.hpp>

namespace quarry::detail {

/// A live CUDA array: `buffer` is its handle and knows the streams that use it, which the
/// destructor waits for.
struct ArrayState {
  ArrayState(const ArrayDescriptor& what, const Device& device);
  ~ArrayState();
  ArrayState(const ArrayState&) = delete;
  ArrayState& operator=(const ArrayState&) = delete;

  ArrayDescriptor descriptor;
  Buffer buffer;
};

}  // namespace quarry::detail
