// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>

#include <array>
#include <bit>
#include <cstddef>

/// Classes as element types with named fields, as NumPy's structured dtypes.
///
///   struct Particle { double mass; float pos[3]; int id; };
///   QUARRY_RECORD(Particle, mass, pos, id);
namespace quarry::detail {

/// The elements and the extents of a member of type M.
template <class M, std::int64_t... N>
struct MemberShape {
  using element = M;
  static constexpr std::size_t rank = sizeof...(N);
  static constexpr bool has_elements = ((N > 0) && ...);
  static constexpr std::int64_t extents[rank + 1] = {N..., 0};
};
template <class M, std::size_t K, std::int64_t... N>
struct MemberShape<M[K], N...> : MemberShape<M, N..., std::int64_t{K}> {};
template <class M, std::size_t K, std::int64_t... N>
struct MemberShape<std::array<M, K>, N...> : MemberShape<M, N..., std::int64_t{K}> {};

/// A pointer to a data member, taken apart.
template <auto Pointer>
struct Member;
template <class C, class M, M C::*Pointer>
struct Member<Pointer> : MemberShape<M> {
  using record = C;
  using type = M;
  using typename MemberShape<M>::element;
  static_assert(MemberShape<M>::has_elements, "an array without elements is no field");
  static_assert(Element<element>, "a field is a number, a record, or a fixed array of these");

  static constexpr Field field(std::string_view name, std::size_t offset) {
    return {name, offset, dtype_of<element>, {MemberShape<M>::extents, MemberShape<M>::rank}};
  }
  /// The field of T, which is C or derived from it, without its name. A pointer to a data member is
  /// its offset (Itanium C++ ABI, 2.3.1).
  template <class T>
  static Field field() {
    return field({}, std::size_t(std::bit_cast<std::ptrdiff_t>(static_cast<M T::*>(Pointer))));
  }
};

/// The fields of a record, and pointers to them.
template <auto... Pointers>
struct FieldList {
  Field field[sizeof...(Pointers)];
};

/// A string as a template argument.
template <std::size_t Size>
struct FieldName {
  // Implicit, so that field<"mass">() can be written.
  consteval FieldName(const char (&text)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) characters[i] = text[i];
  }
  constexpr std::string_view view() const { return {characters, Size - 1}; }
  char characters[Size];
};

/// A class that QUARRY_RECORD names.
template <class T>
concept Record = Element<T> && requires {
  quarry_fields(static_cast<const T*>(nullptr));
};

/// The number of T's field of that name; the number of fields if there is none.
template <Record T>
constexpr std::size_t field_number(std::string_view name) {
  std::size_t number = 0;
  for (const Field& field : field_list<T>.field) {
    if (field.name == name) break;
    ++number;
  }
  return number;
}

template <std::size_t Number, class List>
struct PointerAt;
template <std::size_t Number, auto First, auto... Rest>
struct PointerAt<Number, const FieldList<First, Rest...>>
    : PointerAt<Number - 1, const FieldList<Rest...>> {};
template <auto First, auto... Rest>
struct PointerAt<0, const FieldList<First, Rest...>> {
  static constexpr auto value = First;
};

/// The pointer to T's member of that name.
template <class T, FieldName Name>
constexpr auto pointer_named() {
  static_assert(Record<T>, "names of fields need QUARRY_RECORD");
  constexpr std::size_t number = field_number<T>(Name.view());
  static_assert(number < dtype_of<T>.fields().size(), "the record has no field of this name");
  return PointerAt<number, decltype(field_list<T>)>::value;
}

}  // namespace quarry::detail

#define QUARRY_PARENTHESES ()
#define QUARRY_EXPAND(...) QUARRY_EXPAND_3(QUARRY_EXPAND_3(QUARRY_EXPAND_3(__VA_ARGS__)))
#define QUARRY_EXPAND_3(...) QUARRY_EXPAND_2(QUARRY_EXPAND_2(QUARRY_EXPAND_2(__VA_ARGS__)))
#define QUARRY_EXPAND_2(...) QUARRY_EXPAND_1(QUARRY_EXPAND_1(QUARRY_EXPAND_1(__VA_ARGS__)))
#define QUARRY_EXPAND_1(...) QUARRY_EXPAND_0(QUARRY_EXPAND_0(QUARRY_EXPAND_0(__VA_ARGS__)))
#define QUARRY_EXPAND_0(...) __VA_ARGS__
#define QUARRY_EACH_FIELD(macro, Type, ...) \
  QUARRY_EXPAND(QUARRY_NEXT_FIELD(macro, Type, __VA_ARGS__))
#define QUARRY_NEXT_FIELD(macro, Type, name, ...) \
  macro(Type, name) __VA_OPT__(, QUARRY_MORE_FIELDS QUARRY_PARENTHESES(macro, Type, __VA_ARGS__))
#define QUARRY_MORE_FIELDS() QUARRY_NEXT_FIELD
#define QUARRY_FIELD_POINTER(Type, name) &Type::name
#define QUARRY_FIELD(Type, name) \
  ::quarry::detail::Member<&Type::name>::field(#name, __builtin_offsetof(Type, name))

/// Names the fields of the class `Type`, which may be up to 81: public data members that are
/// numbers, records, or fixed arrays of these (also std::array). Members that are not named are
/// padding. Stands in the namespace of the class, behind it and before arrays of it are used.
#define QUARRY_RECORD(Type, ...)                                                     \
  constexpr auto quarry_fields(const Type*) {                                        \
    return ::quarry::detail::FieldList<QUARRY_EACH_FIELD(QUARRY_FIELD_POINTER, Type, \
                                                         __VA_ARGS__)>{              \
        {QUARRY_EACH_FIELD(QUARRY_FIELD, Type, __VA_ARGS__)}};                       \
  }                                                                                  \
  static_assert(::quarry::dtype_of<Type>.fields().size() > 0,                        \
                "QUARRY_RECORD has to stand before the first use of the class as an element")
