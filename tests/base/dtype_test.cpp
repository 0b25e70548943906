// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/dtype.hpp>
#include <quarry/base/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace quarry {
namespace {

struct Particle {
  double position[3];
  std::int32_t charge;
};
struct Nothing {};

template <class T>
concept HasHostSize = requires {
  sizeof(T);
};

TEST(dtype, rows_have_the_size_and_alignment_of_their_host_types) {
  for (std::size_t i = 0; i < type_count; ++i) {
    const DType type = TypeId(i);
    EXPECT_EQ(type.id(), TypeId(i));
    visit(type, [&]<class T>() {
      EXPECT_EQ(dtype_of<T>, type);
      if constexpr (HasHostSize<T>) {
        EXPECT_EQ(sizeof(T), type.itemsize()) << type;
        EXPECT_EQ(alignof(T), type.alignment()) << type;
      } else {
        EXPECT_EQ(type.itemsize(), 2u) << type;
        EXPECT_EQ(type.alignment(), 2u) << type;
      }
    });
  }
}

TEST(dtype, kinds_are_those_of_the_host_types) {
  for (std::size_t i = 0; i < type_count; ++i) {
    const DType type = TypeId(i);
    const Kind expected = visit(type, []<class T>() {
      if (std::is_same_v<T, bool>) return Kind::boolean;
      if (std::is_integral_v<T>)
        return std::is_signed_v<T> ? Kind::signed_integer : Kind::unsigned_integer;
      const bool is_complex =
          std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
      return is_complex ? Kind::complex : Kind::floating;
    });
    EXPECT_EQ(type.kind(), expected) << type;
  }
}

TEST(dtype, other_spellings_map_to_the_row_of_the_same_size_and_sign) {
  EXPECT_EQ(dtype_of<long long>, TypeId::int64);
  EXPECT_EQ(dtype_of<long>.itemsize(), sizeof(long));
  EXPECT_EQ(dtype_of<unsigned long long>, TypeId::uint64);
  EXPECT_EQ(dtype_of<unsigned long>.kind(), Kind::unsigned_integer);
  EXPECT_EQ(dtype_of<char>.itemsize(), 1u);
  EXPECT_EQ(dtype_of<signed char>, TypeId::int8);
  EXPECT_EQ(dtype_of<const float>, TypeId::float32);
  static_assert(std::is_same_v<host_type_t<dtype_of<long long>.id()>, std::int64_t>);
  static_assert(std::is_same_v<kernel_type_t<long long>, std::int64_t>);
}

namespace twin {
struct Particle {
  double position[3];
  std::int32_t charge;
};
}  // namespace twin

TEST(dtype, a_record_is_its_class_size_and_alignment) {
  constexpr DType type = dtype_of<Particle>;
  EXPECT_TRUE(type.is_record());
  EXPECT_EQ(type.kind(), Kind::record);
  EXPECT_EQ(type.itemsize(), sizeof(Particle));
  EXPECT_EQ(type.alignment(), alignof(Particle));
  EXPECT_EQ(type, dtype_of<Particle>);
  EXPECT_NE(type, DType::record(sizeof(Particle), alignof(Particle)));
  EXPECT_NE(type, dtype_of<twin::Particle>);
  static_assert(sizeof(Particle) == sizeof(twin::Particle));
  EXPECT_NE(type, DType(TypeId::float64));
  static_assert(std::is_same_v<kernel_type_t<Particle>,
                               kernels::record<sizeof(Particle), alignof(Particle)>>);
}

TEST(dtype, a_record_of_another_shared_object_is_known_by_its_name) {
  const std::string names[] = {"lib::Particle", "lib::Particle", "lib::Photon"};
  const detail::RecordClass here{names[0]}, there{names[1]}, other{names[2]};
  const DType record = DType::record(8, 4, &here);
  EXPECT_EQ(record, DType::record(8, 4, &there));
  EXPECT_NE(record, DType::record(8, 4, &other));
  EXPECT_NE(record, DType::record(16, 4, &there));
  EXPECT_NE(record, DType::record(8, 8, &there));
  EXPECT_NE(record, DType::record(8, 4));
  // of unnamed namespaces of two files
  const detail::RecordClass one{names[0], true}, two{names[1], true};
  EXPECT_NE(DType::record(8, 4, &one), DType::record(8, 4, &two));
  EXPECT_EQ(DType::record(8, 4, &one), DType::record(8, 4, &one));
}

TEST(dtype, a_record_is_no_number) {
  EXPECT_THROW(visit(dtype_of<Particle>, []<class T>() {}), DTypeError);
  EXPECT_THROW(DType{TypeId::record}, DTypeError);
  EXPECT_THROW(DType{TypeId(200)}, DTypeError);
}

TEST(dtype, prints_as_numpy_names_it) {
  EXPECT_EQ(to_string(dtype_of<bool>), "bool");
  EXPECT_EQ(to_string(TypeId::complex128), "complex128");
  EXPECT_EQ(to_string(TypeId::record), "record");
  EXPECT_EQ(dtype_of<Eigen::bfloat16>.name(), "bfloat16");
  EXPECT_EQ(dtype_of<std::complex<double>>.npy_code(), "c16");
  std::ostringstream out;
  out << dtype_of<Particle> << ' ' << TypeId::int8;
  EXPECT_EQ(out.str(), "record[32] " + std::string(detail::type_name<Particle>()) + " int8");
  EXPECT_NE(out.str().find("Particle"), std::string::npos);
}

static_assert(Element<float> && Element<Eigen::half> && Element<std::complex<double>>);
static_assert(Element<Particle> && Element<std::array<float, 3>>);
static_assert(!Element<const float> && !Element<const Particle> && !Element<volatile Particle>);
static_assert(!Element<float*> && !Element<float&> && !Element<void> && !Element<Nothing>);
static_assert(!Element<std::string> && !Element<std::vector<int>> && !Element<float[3]>);
static_assert(!Element<std::shared_ptr<int>> && !Element<long double> && !Element<wchar_t>);
static_assert(Number<unsigned long long> && Number<char> && !Number<Particle>);
static_assert(sizeof(DType) <= 24);

}  // namespace
}  // namespace quarry
