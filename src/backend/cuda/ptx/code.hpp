// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <quarry/base/dtype.hpp>

#include "backend/cuda/ptx/operations.hpp"

namespace quarry::backend::cuda {

/// A value of an element type and the register that holds its bits: operations.hpp.
struct PtxValue {
  TypeId type;
  std::string in;
};

inline bool is_wide(TypeId type) { return DType(type).itemsize() == 8; }

/// The body of a kernel that grows line by line: its registers, and what it uses of the table of
/// operations.
class PtxCode {
 public:
  std::string word() { return fmt::format("%v{}", words_++); }  ///< a register of 32 bits
  std::string wide() { return fmt::format("%w{}", wides_++); }  ///< one of 64
  std::string predicate() { return fmt::format("%c{}", predicates_++); }
  std::string for_type(TypeId type) { return is_wide(type) ? wide() : word(); }

  /// An instruction, without its semicolon.
  template <class... A>
  void add(fmt::format_string<A...> instruction, A&&... arguments) {
    fmt::format_to(std::back_inserter(body_), instruction, std::forward<A>(arguments)...);
    body_ += ";\n";
  }
  /// The result of an instruction with operands: word_of("add.u32", "%v1, %v2").
  std::string word_of(std::string_view instruction, std::string_view operands) {
    return result(word(), instruction, operands);
  }
  std::string wide_of(std::string_view instruction, std::string_view operands) {
    return result(wide(), instruction, operands);
  }
  std::string test(std::string_view instruction, std::string_view operands) {
    return result(predicate(), instruction, operands);
  }
  void label(std::string_view name) { fmt::format_to(std::back_inserter(body_), "{}:\n", name); }

  PtxValue apply(const OperationPtx& operation, const PtxValue* operands);
  /// Nothing if the table lacks the conversion.
  std::optional<PtxValue> convert(const PtxValue& value, TypeId type);

  /// The kernel as a module for GPUs of `target` ("sm_90") and newer ones. `parameters` are those
  /// of the entry, `comment` is one line.
  std::string module(std::string_view target, std::string_view comment, std::string_view entry,
                     std::string_view parameters) const;

 private:
  std::string result(std::string to, std::string_view instruction, std::string_view operands) {
    add("{} {}, {}", instruction, to, operands);
    return to;
  }
  /// The definition, behind those that it uses.
  static void define(std::string_view name, std::set<std::string_view>& defined, std::string& text);

  int words_ = 0, wides_ = 0, predicates_ = 0;
  std::string body_;
  std::set<std::string_view> used_;
};

}  // namespace quarry::backend::cuda
