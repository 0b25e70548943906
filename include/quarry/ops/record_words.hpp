// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/positions.hpp>

#include <cstdint>
#include <type_traits>

/// Records as rows of words, with which kernels move them: a record has no expression.
namespace quarry::expr {

/// The largest word that divides elements of T, with which their bytes are moved.
template <class T>
using word_of = std::conditional_t<
    alignof(T) % 8 == 0, std::uint64_t,
    std::conditional_t<alignof(T) % 4 == 0, std::uint32_t,
                       std::conditional_t<alignof(T) % 2 == 0, std::uint16_t, std::uint8_t>>>;
/// Records as words, along a new last axis.
template <class T>
auto as_words(const DeviceNDArray<T>& array) {
  using Word = word_of<T>;
  Layout layout = array.layout();
  layout.shape.push_back(std::int64_t(sizeof(T) / sizeof(Word)));
  layout.strides.push_back(sizeof(Word));
  using W = std::conditional_t<std::is_const_v<T>, const Word, Word>;
  return DeviceNDArray<W>(std::move(layout), array.address(), array.buffer()).bind(array.stream());
}

/// An array or expression of records.
template <class X>
concept RecordArray = Operand<X> && !Number<std::remove_const_t<typename X::value_type>>;
/// One record, or an array of them.
template <class X>
concept Records = RecordArray<X> ||
    (!Operand<X> && Element<X> && !Number<X> && !HostArray<X> && !HostList<X>);

template <class X>
struct RecordOf : std::type_identity<X> {};
template <RecordArray X>
struct RecordOf<X> : std::remove_const<typename X::value_type> {};
template <class X>
using record_of_t = typename RecordOf<X>::type;

/// The words of every record along a new last axis; of a copy where records are not aligned.
template <class T>
auto words_of(const DeviceNDArray<T>& records) {
  return aligned_array(as_words(records));
}
/// The same of one record that the host has.
template <class R>
requires(!Operand<R>) auto words_of(const R& record, const Stream& stream) {
  return words_of(full<R>({}, record, {.stream = stream}));
}
template <class T>
auto words_of(const DeviceNDArray<T>& records, const Stream&) {
  return words_of(records);
}

/// Records of R from a new array of their words.
template <class R>
DeviceNDArray<R> from_words(const DeviceNDArray<word_of<R>>& words) {
  Layout layout = words.layout();
  layout.shape.pop_back();
  layout.strides.pop_back();
  return DeviceNDArray<R>(layout, words.address(), words.buffer()).bind(words.stream());
}

}  // namespace quarry::expr
