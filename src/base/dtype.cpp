// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/dtype.hpp>
#include <quarry/base/error.hpp>

#include <fmt/format.h>

#include <ostream>

namespace quarry {

namespace detail {

void throw_record_has_no_row() { throw DTypeError("a record is not a number"); }

}  // namespace detail

std::string to_string(const DType& type) {
  if (type.is_record()) {
    const std::string_view name = type.class_name();
    return fmt::format("record[{}]{}{}", type.itemsize(), name.empty() ? "" : " ", name);
  }
  return std::string(type.name());
}

std::string to_string(TypeId id) { return id == TypeId::record ? "record" : to_string(DType(id)); }

std::ostream& operator<<(std::ostream& out, const DType& type) { return out << to_string(type); }

std::ostream& operator<<(std::ostream& out, TypeId id) { return out << to_string(id); }

}  // namespace quarry
