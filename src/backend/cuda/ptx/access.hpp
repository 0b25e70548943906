// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "backend/cuda/ptx/code.hpp"

namespace quarry::backend::cuda {

/// An access to `width` consecutive elements of an operand: 1, 2, 4, 8 or 16 bytes, aligned. In
/// registers they are words of 32 bits, of which small elements are parts, or of 64.
class PtxAccess {
 public:
  PtxAccess(TypeId type, int width)
      : type_(type), size_(static_cast<int>(DType(type).itemsize())), width_(width) {}

  int width() const { return width_; }
  int elements_of_word() const { return word_bytes() / size_; }

  /// The words at the address in the register `at`.
  std::vector<std::string> load(PtxCode& code, const std::string& at) const;
  /// An element of words that were loaded.
  PtxValue element(PtxCode& code, const std::vector<std::string>& words, int number) const;

  /// The word of so many elements; of a value that is there once, for all, `values` has that alone.
  std::string word_of(PtxCode& code, const std::vector<PtxValue>& values) const;
  /// `condition` is empty or a predicate: "@%c1".
  void store(PtxCode& code, const std::string& at, const std::vector<std::string>& words,
             const std::string& condition = "") const;

 private:
  int bytes() const { return size_ * width_; }
  int word_bytes() const { return size_ == 8 ? 8 : std::min(bytes(), 4); }
  /// "v4.b32": the type of the instruction.
  std::string suffix() const;

  TypeId type_;
  int size_, width_;
};

}  // namespace quarry::backend::cuda
