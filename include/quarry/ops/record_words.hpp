// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/ops/positions.hpp>

#include <cstdint>
#include <type_traits>

/// Records as rows of words, with which kernels move them: a record has no expression.
namespace quarry::expr {

/// The largest unsigned integer that records of R are aligned for.
template <class R>
using word_of_t = std::conditional_t<
    alignof(R) % 8 == 0, std::uint64_t,
    std::conditional_t<alignof(R) == 4, std::uint32_t,
                       std::conditional_t<alignof(R) == 2, std::uint16_t, std::uint8_t>>>;

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
  using Record = std::remove_const_t<T>;
  using Word = word_of_t<Record>;
  Layout layout = records.layout();
  layout.shape.push_back(std::int64_t{sizeof(Record) / sizeof(Word)});
  layout.strides.push_back(std::int64_t{sizeof(Word)});
  return aligned_array(DeviceNDArray<const Word>(layout, records.device_pointer(), records.buffer())
                           .bind(records.stream()));
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
DeviceNDArray<R> from_words(const DeviceNDArray<word_of_t<R>>& words) {
  Layout layout = words.layout();
  layout.shape.pop_back();
  layout.strides.pop_back();
  return DeviceNDArray<R>(layout, words.device_pointer(), words.buffer()).bind(words.stream());
}

}  // namespace quarry::expr
