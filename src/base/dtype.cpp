// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/dtype.hpp>
#include <quarry/base/error.hpp>
#include <quarry/base/shape.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <vector>

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

namespace {

/// The fields in the order of memory. Throws DTypeError if two share bytes.
std::vector<const Field*> in_memory_order(const DType& type) {
  std::vector<const Field*> fields;
  for (const Field& field : type.fields()) fields.push_back(&field);
  std::ranges::stable_sort(fields, {}, &Field::offset);
  for (std::size_t i = 1; i < fields.size(); ++i) {
    const Field& before = *fields[i - 1];
    require<DTypeError>(before.offset + before.bytes() <= fields[i]->offset, [&] {
      return fmt::format("the fields {} and {} of {} share bytes: no descr describes them",
                         before.name, fields[i]->name, to_string(type));
    });
  }
  return fields;
}

std::string tuple_of(const Field& field) {
  std::string text = fmt::format("('{}', {}", field.name, descr(field.dtype));
  if (!field.shape.empty()) text += ", " + to_string(Shape(field.shape.begin(), field.shape.end()));
  return text + ")";
}

}  // namespace

std::string descr(const DType& type) {
  require<DTypeError>(
      type.id() != TypeId::bfloat16 && (!type.is_record() || !type.fields().empty()), [&] {
        return fmt::format("{} has no descr{}", to_string(type),
                           type.is_record() ? ": QUARRY_RECORD names fields" : "");
      });
  if (!type.is_record()) {
    return fmt::format("'{}{}'", type.itemsize() == 1 ? '|' : '<', type.npy_code());
  }
  std::vector<std::string> parts;
  std::size_t end = 0;
  const auto pad_to = [&](std::size_t offset) {
    if (offset > end) parts.push_back(fmt::format("('', '|V{}')", offset - end));
  };
  for (const Field* field : in_memory_order(type)) {
    pad_to(field->offset);
    parts.push_back(tuple_of(*field));
    end = field->offset + field->bytes();
  }
  pad_to(type.itemsize());
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

}  // namespace quarry
