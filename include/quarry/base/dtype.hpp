// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

// The host types of float16, bfloat16 and complex are only declared here: including <complex> or
// Eigen would slow down every user's compilation. libc++ hides its types in an inline namespace.
#ifdef _LIBCPP_VERSION
#include <complex>
#else
namespace std {
template <class T>
class complex;
}
#endif

namespace Eigen {
struct half;
struct bfloat16;
}  // namespace Eigen

namespace quarry {

namespace kernels {
struct float16;
struct bfloat16;
template <class T>
struct complex;
template <std::size_t Size, std::size_t Alignment>
struct record;
}  // namespace kernels

/// The element types, one for each row of dtype.def, and `record` for classes.
enum class TypeId : std::uint8_t {
#define QUARRY_DTYPE(id, host_type, kernel_type, kind, name, npy_code) id,
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE
  record
};

/// The kind of an element type's values.
enum class Kind : std::uint8_t {
  boolean,
  signed_integer,
  unsigned_integer,
  floating,
  complex,
  record
};

struct Field;

namespace detail {

struct TypeRow {
  Kind kind;
  std::string_view name;
  std::string_view npy_code;

  /// The digits of the .npy code.
  constexpr std::size_t itemsize() const {
    std::size_t size = 0;
    for (const char digit : npy_code.substr(1)) size = size * 10 + std::size_t(digit - '0');
    return size;
  }
};

inline constexpr TypeRow type_rows[] = {
#define QUARRY_DTYPE(id, host_type, kernel_type, kind, name, npy_code) {Kind::kind, name, npy_code},
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE
};

[[noreturn]] void throw_record_has_no_row();

/// The name of `T` as this compiler spells it.
template <class T>
constexpr std::string_view type_name() {
  std::string_view s = __PRETTY_FUNCTION__;
  const auto begin = s.find("T = ") + 4;
  const auto semicolon = s.find(';', begin);
  return s.substr(begin, (semicolon == s.npos ? s.rfind(']') : semicolon) - begin);
}

/// Identifies a record's class. Every shared object has its own variable for a class, so names are
/// compared; but classes of unnamed namespaces in two files are different classes of one name.
struct RecordClass {
  std::string_view name;
  bool is_of_one_file = false;
  const Field* fields = nullptr;  ///< those of QUARRY_RECORD
  std::size_t field_count = 0;

  friend constexpr bool is_same(const RecordClass* a, const RecordClass* b) {
    return a->name == b->name && (a == b || !(a->is_of_one_file && b->is_of_one_file));
  }
};
/// Of numbers, and of bytes without a class. An object, since with -fsanitize=undefined GCC does
/// not take the comparison of an address with nullptr for a constant.
inline constexpr RecordClass no_class{};
/// What QUARRY_RECORD says of `T`.
template <class T>
inline constexpr auto field_list = quarry_fields(static_cast<const T*>(nullptr));

template <class T>
constexpr RecordClass describe_class() {
  constexpr std::string_view name = type_name<T>();
  bool is_unnamed = false;
  for (const char* const part : {"{anonymous}", "(anonymous", "<unnamed", "(unnamed"}) {
    is_unnamed = is_unnamed || name.find(part) != name.npos;
  }
  RecordClass description{name, is_unnamed};
  if constexpr (requires { quarry_fields(static_cast<const T*>(nullptr)); }) {
    description.fields = field_list<T>.field;
    description.field_count = std::size(field_list<T>.field);
  }
  return description;
}
template <class T>
inline constexpr RecordClass record_class = describe_class<T>();

}  // namespace detail

/// How many types have a row: every TypeId but `record`.
inline constexpr std::size_t type_count = std::size_t(TypeId::record);

/// The type of an array's elements at run time. A record is known by its class, size and alignment.
class DType {
 public:
  /// The type of a row. Throws DTypeError for `record`, whose size it does not know.
  constexpr DType(TypeId id) : DType(id, row(id)) {}
  /// Without a class: plain bytes.
  static constexpr DType record(std::size_t itemsize, std::size_t alignment,
                                const detail::RecordClass* of = &detail::no_class) {
    return DType(TypeId::record, itemsize, alignment, of);
  }

  /// Its row; TypeId::record for all records.
  constexpr TypeId id() const { return id_; }
  /// What its values are.
  constexpr Kind kind() const { return is_record() ? Kind::record : row(id_).kind; }
  /// Of one element, in bytes.
  constexpr std::size_t itemsize() const { return itemsize_; }
  /// Of one element, in bytes.
  constexpr std::size_t alignment() const { return alignment_; }
  /// NumPy's name, as "float32"; "record" for all records.
  constexpr std::string_view name() const { return is_record() ? "record" : row(id_).name; }
  /// Empty for a record.
  constexpr std::string_view npy_code() const { return is_record() ? "" : row(id_).npy_code; }
  /// Whether it is a class, not a number.
  constexpr bool is_record() const { return id_ == TypeId::record; }
  /// The name of a record's class; empty for other types, and for bytes of no class.
  constexpr std::string_view class_name() const { return class_->name; }
  /// Those that QUARRY_RECORD names (base/record.hpp), in its order; none for other types.
  constexpr std::span<const Field> fields() const;

  /// Whether both are of one row; records must agree in class, size and alignment, too.
  friend constexpr bool operator==(const DType& a, const DType& b) {
    return a.id_ == b.id_ && a.itemsize_ == b.itemsize_ && a.alignment_ == b.alignment_ &&
           is_same(a.class_, b.class_);
  }

 private:
  constexpr DType(TypeId id, std::size_t itemsize, std::size_t alignment,
                  const detail::RecordClass* of = &detail::no_class)
      : itemsize_(itemsize), class_(of), alignment_(std::uint32_t(alignment)), id_(id) {}
  constexpr DType(TypeId id, const detail::TypeRow& row)
      : DType(id, row.itemsize(), row.itemsize() / (row.kind == Kind::complex ? 2 : 1)) {}

  static constexpr const detail::TypeRow& row(TypeId id) {
    if (id >= TypeId::record) detail::throw_record_has_no_row();
    return detail::type_rows[std::size_t(id)];
  }

  std::size_t itemsize_;
  const detail::RecordClass* class_;
  std::uint32_t alignment_;
  TypeId id_;
};

/// A named member of a record: an element, or a fixed array of elements in C order.
struct Field {
  std::string_view name;                ///< of the member
  std::size_t offset;                   ///< from the start of the record, in bytes
  DType dtype;                          ///< of its elements
  std::span<const std::int64_t> shape;  ///< extents of a fixed array; empty for a single element

  /// Of all of its elements, in bytes.
  constexpr std::size_t bytes() const {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count * dtype.itemsize();
  }
};

constexpr std::span<const Field> DType::fields() const {
  return {class_->fields, class_->field_count};
}

/// NumPy's dtype.descr, as Python writes it: '<f4' for a number, for a record a list of its fields
/// and of the bytes between them in the order of memory: [('mass', '<f8'), ('pos', '<f4', (3,)),
/// ('', '|V4')]. Throws DTypeError for bfloat16, for a record without fields, and for fields that
/// share bytes.
std::string descr(const DType& type);

///@{
/// "float32"; a record is "record[24] Particle" with its size in bytes and its class.
std::string to_string(const DType& type);
std::string to_string(TypeId id);
std::ostream& operator<<(std::ostream& out, const DType& type);
std::ostream& operator<<(std::ostream& out, TypeId id);
///@}

namespace detail {

template <TypeId Id>
struct TypesOf;
#define QUARRY_DTYPE(id, host_type, kernel_type, kind, name, npy_code) \
  template <>                                                          \
  struct TypesOf<TypeId::id> {                                         \
    using host = host_type;                                            \
    using kernel = kernel_type;                                        \
  };
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE

template <class T>
inline constexpr TypeId row_of = TypeId::record;
#define QUARRY_DTYPE(id, host_type, kernel_type, kind, name, npy_code) \
  template <>                                                          \
  inline constexpr TypeId row_of<host_type> = TypeId::id;
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE

template <>
inline constexpr TypeId row_of<char> = std::is_signed_v<char> ? TypeId::int8 : TypeId::uint8;
// std::int64_t is one of long and long long; this is the other one.
using OtherInt64 = std::conditional_t<std::is_same_v<std::int64_t, long>, long long, long>;
template <>
inline constexpr TypeId row_of<OtherInt64> = sizeof(OtherInt64) == 8 ? TypeId::int64
                                                                     : TypeId::int32;
template <>
inline constexpr TypeId row_of<std::make_unsigned_t<OtherInt64>> = sizeof(OtherInt64) == 8
                                                                       ? TypeId::uint64
                                                                       : TypeId::uint32;

}  // namespace detail

/// A type with a row in dtype.def, or another spelling of one (`char`, `long long`).
template <class T>
concept Number = detail::row_of<T>
!= TypeId::record;

/// What an array may hold: a Number, or a trivially copyable class with at least one member.
template <class T>
concept Element = Number<T> ||
    (std::is_class_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> &&
     std::is_trivially_copyable_v<T> && !std::is_empty_v<T>);

namespace detail {

template <class T>
constexpr DType make_dtype() {
  static_assert(Element<T>, "not a type that an array can hold");
  if constexpr (Number<T>)
    return row_of<T>;
  else
    return DType::record(sizeof(T), alignof(T), &record_class<T>);
}

template <class T>
struct KernelType {
  using type = kernels::record<sizeof(T), alignof(T)>;
};
template <Number T>
struct KernelType<T> {
  using type = typename TypesOf<row_of<T>>::kernel;
};

}  // namespace detail

/// The DType of `T`, which may be const.
template <class T>
inline constexpr DType dtype_of = detail::make_dtype<std::remove_const_t<T>>();

/// The type of an element `T` in kernels.
template <Element T>
using kernel_type_t = typename detail::KernelType<T>::type;

/// The host type of a row. For a Number, `host_type_t<dtype_of<T>.id()>` is its canonical spelling.
template <TypeId Id>
using host_type_t = typename detail::TypesOf<Id>::host;

/// Calls `f.template operator()<T>()` with the host type of `type` and returns what it returns.
/// Throws DTypeError for a record. `T` may be incomplete here: float16 without Eigen's header.
template <class F>
constexpr decltype(auto) visit(const DType& type, F&& f) {
  switch (type.id()) {
#define QUARRY_DTYPE(id, host_type, kernel_type, kind, name, npy_code) \
  case TypeId::id:                                                     \
    return f.template operator()<host_type>();
#include <quarry/base/dtype.def>
#undef QUARRY_DTYPE
    case TypeId::record:
      break;
  }
  detail::throw_record_has_no_row();
}

}  // namespace quarry
