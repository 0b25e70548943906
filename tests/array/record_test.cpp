// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "array/model.hpp"

// Fields of arrays of records, and single records, against loops over the host's structs.

namespace user {

struct Spin {
  std::int16_t axis[2];
  std::int8_t sign;
};
QUARRY_RECORD(Spin, axis, sign);
struct Particle {
  double mass;
  float pos[3];
  std::int32_t id;
  Spin spin[2];
};
QUARRY_RECORD(Particle, mass, pos, id, spin);

/// Of 13 bytes: its numbers are nowhere aligned, but for the first ones by chance.
struct __attribute__((packed)) Odd {
  char tag;
  double value;
  std::int32_t count;
};
QUARRY_RECORD(Odd, tag, value, count);

/// The members of Particle again: another type.
struct Twin {
  double mass;
  float pos[3];
  std::int32_t id;
  Spin spin[2];
};
QUARRY_RECORD(Twin, mass, pos, id, spin);

struct Unnamed {
  float x, y;
};
struct Derived : Unnamed {
  std::int64_t z;
};

// As many fields as QUARRY_RECORD takes.
#define QUARRY_TEST_FIELDS                                                                       \
  f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, \
      f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32, f33, f34, f35, f36, f37, f38,  \
      f39, f40, f41, f42, f43, f44, f45, f46, f47, f48, f49, f50, f51, f52, f53, f54, f55, f56,  \
      f57, f58, f59, f60, f61, f62, f63, f64, f65, f66, f67, f68, f69, f70, f71, f72, f73, f74,  \
      f75, f76, f77, f78, f79, f80
struct Many {
  std::int8_t QUARRY_TEST_FIELDS;
};
QUARRY_RECORD(Many, QUARRY_TEST_FIELDS);
#undef QUARRY_TEST_FIELDS

}  // namespace user

namespace quarry {
namespace {

using test::values;
using user::Odd;
using user::Particle;

template <class T>
void set_number(T& to, std::mt19937_64& random) {
  to = static_cast<T>(static_cast<int>(random() % 201) - 100);
}
void draw(Particle& p, std::mt19937_64& random) {
  std::memset(static_cast<void*>(&p), 0, sizeof p);
  set_number(p.mass, random), set_number(p.id, random);
  for (float& x : p.pos) set_number(x, random);
  for (user::Spin& spin : p.spin) {
    for (std::int16_t& a : spin.axis) set_number(a, random);
    set_number(spin.sign, random);
  }
}
void draw(Odd& o, std::mt19937_64& random) {
  o.tag = static_cast<char>(random() % 100);
  o.value = static_cast<double>(static_cast<int>(random() % 1000));
  o.count = static_cast<std::int32_t>(random() % 1000);
}

template <class T>
std::vector<T> drawn(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> records(count);
  for (T& record : records) draw(record, random);
  return records;
}
template <class T>
DeviceNDArray<T> device(const std::vector<T>& records, const Shape& shape) {
  DeviceNDArray<T> array(shape);
  array.copy_to_device(records);
  return array;
}
template <class T>
std::vector<T> host(const DeviceNDArray<T>& array) {
  std::vector<T> records(static_cast<std::size_t>(array.size()));
  array.copy_to_host(records);
  return records;
}
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(Record, TheTypeHasItsFields) {
  const auto fields = dtype_of<Particle>.fields();
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields[0].name, "mass");
  EXPECT_EQ(fields[1].offset, offsetof(Particle, pos));
  EXPECT_EQ(fields[1].dtype, dtype_of<float>);
  EXPECT_EQ(Shape(fields[1].shape), Shape{3});
  EXPECT_EQ(fields[3].dtype, dtype_of<user::Spin>);
  EXPECT_EQ(fields[3].bytes(), 2 * sizeof(user::Spin));
  EXPECT_EQ(fields[3].dtype.fields()[0].name, "axis");
  EXPECT_TRUE(dtype_of<float>.fields().empty());
  EXPECT_TRUE(dtype_of<user::Unnamed>.fields().empty());
  EXPECT_EQ(dtype_of<user::Many>.fields().size(), 81u);
  EXPECT_EQ(dtype_of<user::Many>.fields()[80].name, "f80");
  EXPECT_FALSE(dtype_of<Particle> == dtype_of<user::Twin>);
}

TEST(Record, DescriptionsNamePaddingAndRefuseWhatNumPyHasNot) {
  EXPECT_EQ(descr(dtype_of<float>), "'<f4'");
  EXPECT_EQ(descr(dtype_of<bool>), "'|b1'");
  EXPECT_EQ(descr(dtype_of<Odd>), "[('tag', '|i1'), ('value', '<f8'), ('count', '<i4')]");
  EXPECT_EQ(descr(dtype_of<Particle>),
            "[('mass', '<f8'), ('pos', '<f4', (3,)), ('id', '<i4'), ('spin', [('axis', '<i2', "
            "(2,)), ('sign', '|i1'), ('', '|V1')], (2,)), ('', '|V4')]");
  EXPECT_THROW(descr(dtype_of<user::Unnamed>), DTypeError);
}

TEST(Record, FieldsAreViewsOfEveryLayout) {
  const auto records = drawn<Particle>(24, 1);
  const auto all_of_them = device(records, {4, 6});
  const auto part = all_of_them(range(_, _, -1), range(1, _, 2));
  const auto mass = part.field<&Particle::mass>();
  EXPECT_EQ(mass.shape(), (Shape{4, 3}));
  EXPECT_EQ(mass.strides(), part.strides());
  const auto pos = part.field<&Particle::pos>();
  EXPECT_EQ(pos.shape(), (Shape{4, 3, 3}));
  const auto axis = part.field<&Particle::spin>().field<&user::Spin::axis>();
  EXPECT_EQ(axis.shape(), (Shape{4, 3, 2, 2}));
  EXPECT_EQ(mass.buffer(), all_of_them.buffer());
  const auto masses = values(mass);
  const auto positions = values(pos);
  const auto axes = values(axis);
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const Particle& p = records[(3 - i) * 6 + 1 + 2 * j];
      const std::size_t at = i * 3 + j;
      EXPECT_EQ(masses[at], p.mass);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(positions[at * 3 + k], p.pos[k]);
      for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(axes[at * 4 + k], p.spin[k / 2].axis[k % 2]);
    }
  }
}

TEST(Record, FieldsAreFoundByName) {
  const auto records = drawn<Particle>(5, 2);
  const auto array = device(records, {5});
  const auto want = values(array.field<&Particle::mass>());
  EXPECT_EQ(values(array.field<"mass">()), want);
  EXPECT_EQ(values(array.field<double>("mass")), want);
  const DeviceNDArray<double> converted = array.field("mass");
  EXPECT_EQ(values(converted), want);
  EXPECT_EQ(array.field("pos").shape(), (Shape{5, 3}));
  EXPECT_EQ(to_string(array.field("id")), to_string(array.field<&Particle::id>()));
  EXPECT_THROW(array.field<float>("mass"), DTypeError);
  EXPECT_THROW(array.field("weight"), IndexError);
  EXPECT_THROW(zeros<user::Unnamed>({2}).field("x"), IndexError);
  try {
    array.field("weight");
  } catch (const IndexError& e) {
    EXPECT_NE(std::string(e.what()).find("mass, pos, id, spin"), std::string::npos) << e.what();
  }
}

TEST(Record, FieldsNeedNoNames) {
  DeviceNDArray<user::Derived> array(Shape{3});
  array.fill(user::Derived{{1, 2}, 3});
  array.field<&user::Derived::y>() = arange<float>(3);
  array.field<&user::Derived::z>() += 4;
  for (int i = 0; i < 3; ++i) {
    const user::Derived got = array(i).item();
    EXPECT_EQ(got.x, 1);
    EXPECT_EQ(got.y, static_cast<float>(i));
    EXPECT_EQ(got.z, 7);
  }
}

TEST(Record, WritingAFieldLeavesItsNeighboursAlone) {
  auto records = drawn<Particle>(33, 3);
  const auto array = device(records, {33});
  array.field<&Particle::mass>() *= 2.0;
  array.field<&Particle::id>() = 7;
  array.field<&Particle::pos>()(all, 1) = array.field<&Particle::pos>()(all, 2) + 1.f;
  array.field<&Particle::spin>()(all, 0).field<&user::Spin::sign>() = -1;
  for (Particle& p : records) {
    p.mass *= 2, p.id = 7, p.pos[1] = p.pos[2] + 1, p.spin[0].sign = -1;
  }
  EXPECT_TRUE(same(host(array), records));
}

TEST(Record, FieldsAreReducedAndComputedWith) {
  const auto records = drawn<Particle>(1000, 4);
  const auto array = device(records, {10, 100});
  double total = 0, weighted = 0;
  std::int64_t heaviest = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    total += records[i].mass;
    weighted += records[i].mass * records[i].pos[0];
    if (records[i].mass > records[static_cast<std::size_t>(heaviest)].mass)
      heaviest = static_cast<std::int64_t>(i);
  }
  const auto mass = array.field<&Particle::mass>();
  EXPECT_EQ(sum(mass).item(), total);
  EXPECT_EQ(sum(mass * array.field<&Particle::pos>()(ellipsis, 0)).item(), weighted);
  EXPECT_EQ(argmax(mass).item(), heaviest);
}

TEST(Record, RecordsOfOddSizeAreReadAndWritten) {
  auto records = drawn<Odd>(257, 5);
  const auto array = device(records, {257});
  EXPECT_TRUE(same(host(array), records));
  EXPECT_TRUE(same(host(array.copy()), records));
  double total = 0;
  for (const Odd& o : records) total += o.value;
  EXPECT_EQ(sum(array.field<&Odd::value>()).item(), total);
  array.field<&Odd::value>() += 1.0;
  array.field<&Odd::count>() = array.field<&Odd::count>() * 3;
  for (Odd& o : records) o.value += 1, o.count *= 3;
  EXPECT_TRUE(same(host(array), records));
  const auto back = array(range(_, _, -2));
  back.field<&Odd::count>() = 5;
  for (std::size_t i = 0; i < records.size(); i += 2) records[256 - i].count = 5;
  EXPECT_TRUE(same(host(array), records));
}

TEST(Record, FieldsOfReadOnlyAndEmptyArrays) {
  const DeviceNDArray<const Particle> fixed = device(drawn<Particle>(3, 6), {3});
  const DeviceNDArray<const double> mass = fixed.field<&Particle::mass>();
  EXPECT_EQ(values(mass).size(), 3u);
  EXPECT_THROW(DeviceNDArray<double>{fixed.field("mass")}, LogicError);
  const auto none = zeros<Particle>({0, 2});
  EXPECT_EQ(none.field<&Particle::pos>().shape(), (Shape{0, 2, 3}));
  EXPECT_EQ(sum(none.field<&Particle::mass>()).item(), 0);
  DeviceNDArray<Particle> gone = zeros<Particle>({2});
  const DeviceNDArray<Particle> kept = std::move(gone);
  EXPECT_THROW(gone.field<&Particle::mass>(), LogicError);
}

TEST(Record, FieldsOfMappedArraysAreSeenByTheHost) {
  const auto array = mapped_array<Particle>({4});
  array.fill(Particle{});
  array.field<&Particle::id>() = arange<std::int32_t>(4);
  array.stream().synchronize();
  const auto id = array.field<&Particle::id>();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(id.at(i), i);
  id.at(2) = 9;
  EXPECT_EQ(array.at(2).id, 9);
  EXPECT_EQ(array.field<"id">()(2).item(), 9);
}

TEST(Record, OneRecordGoesToTheDeviceAndBack) {
  const Particle p = drawn<Particle>(1, 7)[0];
  const DeviceRecord<Particle> record = to_device(p);
  EXPECT_EQ(record.shape(), Shape{});
  EXPECT_EQ(record.dtype(), dtype_of<Particle>);
  EXPECT_EQ(record.nbytes(), sizeof(Particle));
  Particle back = record.copy_to_host();
  EXPECT_EQ(std::memcmp(&back, &p, sizeof p), 0);
  record.copy_to_device(Particle{});
  record.copy_to_host(back);
  EXPECT_EQ(back.mass, 0);
  const DeviceRecord<Particle> other(ArrayOptions{.stream = record.stream()});
  EXPECT_NE(other.device_pointer(), record.device_pointer());
  other.copy_to_device(record);
  EXPECT_EQ(other.get<&Particle::id>(), 0);
}

TEST(Record, OneRecordIsCopiedInAStream) {
  const auto stream = quarry::stream();
  const Particle p = drawn<Particle>(1, 8)[0];
  const auto record = to_device(p, {.stream = stream});
  Particle back{};
  record.copy_to_host(back, stream);
  stream.synchronize();
  EXPECT_EQ(std::memcmp(&back, &p, sizeof p), 0);
  record.set<&Particle::mass>(3.5, stream);
  EXPECT_EQ(record.copy_to_host(stream).mass, 3.5);
  back.id = 77;
  record.copy_to_device(back, stream);
  back.id = 0;  // it was read before
  EXPECT_EQ(record.get<&Particle::id>(), 77);
}

TEST(Record, FieldsOfOneRecordAreReadAndWritten) {
  auto records = drawn<Particle>(6, 9);
  const auto array = device(records, {2, 3});
  const auto record = array.record(1, -1);
  EXPECT_EQ(record.get<&Particle::mass>(), records[5].mass);
  const std::array<float, 3> pos = record.get<"pos">();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(pos[k], records[5].pos[k]);
  record.set<&Particle::mass>(11.5);
  record.set<"pos">({1, 2, 3});
  record.field<&Particle::spin>()(1).field<&user::Spin::axis>()(0) = 5;
  Particle& p = records[5];
  p.mass = 11.5, p.pos[0] = 1, p.pos[1] = 2, p.pos[2] = 3, p.spin[1].axis[0] = 5;
  EXPECT_TRUE(same(host(array), records));
  user::Spin spin = record.get<&Particle::spin>()[1];
  EXPECT_EQ(spin.axis[0], 5);
  EXPECT_EQ(to_string(record), to_string(array(1, 2)));
}

TEST(Record, ARecordIsOneElement) {
  const auto array = zeros<Particle>({2, 3});
  EXPECT_THROW(array.record(1), ShapeError);
  EXPECT_THROW(array.record(2, 0), IndexError);
  EXPECT_THROW(DeviceRecord<Particle>{array}, ShapeError);
  EXPECT_THROW(
      (DeviceRecord<user::Twin>(array.device_pointer() + array.nbytes() - 8, array.buffer())),
      IndexError);
  const DeviceRecord<Particle> last(array.device_pointer() + 5 * sizeof(Particle), array.buffer());
  last.set<&Particle::id>(4);
  EXPECT_EQ(array(1, 2).field<&Particle::id>().item(), 4);
}

TEST(Record, AViewOfARecordIsWrittenAndANameIsRebound) {
  auto records = drawn<Particle>(3, 10);
  const auto array = device(records, {3}), other = device(drawn<Particle>(3, 11), {3});
  array.record(0) = other.record(1);
  records[0] = host(other)[1];
  array.record(2) = records[1];
  records[2] = records[1];
  EXPECT_TRUE(same(host(array), records));
  array.record(1).assign(other.record(2));
  records[1] = host(other)[2];
  auto name = array.record(0);
  name = other.record(0);
  EXPECT_TRUE(same(host(array), records));
  EXPECT_EQ(name.device_pointer(), other.device_pointer());

  const auto mapped = mapped_array<Particle>({2}), from = mapped_array<Particle>({2});
  mapped.fill(records[0]), from.fill(records[1]);
  mapped(0) = from(1);
  EXPECT_TRUE(same(host(mapped), std::vector<Particle>{records[1], records[0]}));
}

}  // namespace
}  // namespace quarry
