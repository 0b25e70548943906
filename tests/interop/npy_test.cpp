// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>
#include <quarry/npy.hpp>

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <complex>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/generators/xbuilder.hpp>
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xarray.hpp>
#include <xtensor/xbuilder.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>
#endif

namespace quarry {
namespace {

namespace fs = std::filesystem;

static_assert(StridedHostArray<NpyArray<float>>);
static_assert(StridedHostArray<const NpyArray<float>>);
static_assert(std::is_convertible_v<NpyArray<float>, xt::xarray<float>>);
static_assert(!std::is_convertible_v<NpyArray<float>, xt::xarray<double>>);
static_assert(!std::is_convertible_v<NpyArray<float>, std::vector<float>>);

class Npy : public testing::Test {
 protected:
  Npy() : path_(fs::temp_directory_path() / ("quarry_" + unique() + ".npy")) {}
  ~Npy() override { fs::remove(path_); }

  static std::string unique() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    return test.name() + std::to_string(::getpid());
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string path_;
};

template <class T>
xt::xarray<T> counted(const std::vector<std::size_t>& shape) {
  xt::xarray<T> a(shape);
  std::iota(a.data(), a.data() + a.size(), T(1));
  return a;
}

/// The bytes of 1, 2, ..., count: what a file ends with that is in the order of memory.
template <class T>
std::string counted_bytes(std::size_t count) {
  std::vector<T> values(count);
  std::iota(values.begin(), values.end(), T(1));
  return {reinterpret_cast<const char*>(values.data()), sizeof(T) * count};
}

TEST_F(Npy, XtensorArraysComeBack) {
  const xt::xarray<float> a = counted<float>({3, 4, 5});
  save_npy(path_, a);
  EXPECT_TRUE(contents().ends_with(counted_bytes<float>(60)));
  const xt::xarray<float> b = load_npy<float>(path_);
  EXPECT_EQ(a, b);
  const xt::xtensor<float, 3> c = load_npy<float>(path_);
  EXPECT_EQ(a, c);
}

TEST_F(Npy, NoAxesAndNoElementsComeBack) {
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{}, std::vector<std::size_t>{2, 0, 3}}) {
    const xt::xarray<std::int64_t> a = counted<std::int64_t>(shape);
    save_npy(path_, a);
    const xt::xarray<std::int64_t> b = load_npy<std::int64_t>(path_);
    EXPECT_EQ(b.shape(), a.shape());
    EXPECT_EQ(a, b);
  }
}

TEST_F(Npy, FortranOrderIsKeptInTheFileAndInMemory) {
  xt::xarray<double, xt::layout_type::column_major> a = counted<double>({3, 4});
  save_npy(path_, a);
  EXPECT_NE(contents().find("'fortran_order': True"), std::string::npos);
  std::string elements;  // column by column
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < 3; ++i) {
      const double value = 1 + 4 * i + j;
      elements.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
  }
  EXPECT_TRUE(contents().ends_with(elements));
  const auto loaded = load_npy<double>(path_);
  EXPECT_EQ(loaded.strides(), Strides({1, 3}));
  const xt::xarray<double> b = loaded;
  EXPECT_EQ(a, b);
}

TEST_F(Npy, StridedViewsAreWrittenInCOrder) {
  const xt::xarray<float> a = counted<float>({6, 50, 8});
  const auto v = xt::view(a, xt::range(0, 6, 2), xt::all(), xt::range(1, 7, 3));
  save_npy(path_, v);
  std::string elements;
  for (int i = 0; i < 6; i += 2) {
    for (int j = 0; j < 50; ++j) {
      for (int k = 1; k < 7; k += 3) {
        const auto value = static_cast<float>(1 + 400 * i + 8 * j + k);
        elements.append(reinterpret_cast<const char*>(&value), sizeof value);
      }
    }
  }
  EXPECT_TRUE(contents().ends_with(elements));
  const xt::xarray<float> b = load_npy<float>(path_);
  EXPECT_EQ(v, b);
}

TEST_F(Npy, RowsBeyondTheBufferAreWritten) {
  const xt::xarray<std::int32_t> a = counted<std::int32_t>({1500, 2000});
  const auto v = xt::view(a, xt::all(), xt::range(0, 2000, 2));
  save_npy(path_, v);
  const xt::xarray<std::int32_t> b = load_npy<std::int32_t>(path_);
  EXPECT_EQ(v, b);
}

TEST_F(Npy, VectorsAndBoolsAndComplex) {
  save_npy(path_, std::vector<std::uint16_t>{1, 2, 3}, {.sync = true});
  const auto u = load_npy<std::uint16_t>(path_);
  EXPECT_EQ(u.shape(), Shape({3}));
  EXPECT_EQ(u.data()[2], 3);
  const xt::xarray<bool> flags = {{true, false}, {false, true}};
  save_npy(path_, flags);
  const xt::xarray<bool> loaded = load_npy<bool>(path_);
  EXPECT_EQ(loaded, flags);
  const xt::xarray<std::complex<float>> z = {std::complex<float>(1, 2), std::complex<float>(3, -4)};
  save_npy(path_, z);
  const xt::xarray<std::complex<float>> same = load_npy<std::complex<float>>(path_);
  EXPECT_EQ(same, z);
}

TEST_F(Npy, MemoryAtANullAddressIsRefused) {
  save_npy(path_, counted<float>({2, 3}));
  const std::string before = contents();
  EXPECT_THROW(save_npy(path_, std::span<const float>(static_cast<const float*>(nullptr), 3)),
               LogicError);
  auto loaded = load_npy<float>(path_);
  const auto taken = std::move(loaded);
  EXPECT_THROW(save_npy(path_, loaded), LogicError);  // NOLINT: the subject
  EXPECT_THROW((xt::xarray<float>(loaded)), LogicError);
  EXPECT_EQ(contents(), before);
  save_npy(path_, std::span<const float>());
  EXPECT_EQ(load_npy<float>(path_).size(), 0);
}

TEST_F(Npy, LoadedArraysCanBeSaved) {
  save_npy(path_, counted<float>({2, 3}));
  const std::string before = contents();
  save_npy(path_, load_npy<float>(path_));
  EXPECT_EQ(contents(), before);
}

TEST_F(Npy, AnotherTypeOrRankIsRefused) {
  save_npy(path_, counted<double>({2, 3}));
  try {
    load_npy<float>(path_);
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_EQ(e.what(), path_ + ": holds float64, not float32");
  }
  const auto loaded = load_npy<double>(path_);
  EXPECT_THROW((xt::xtensor<double, 1>(loaded)), ShapeError);
}

TEST_F(Npy, RecordsHaveNoCode) {
  struct Pair {
    int a, b;
  };
  EXPECT_THROW(save_npy(path_, std::vector<Pair>(3)), DTypeError);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(Npy, ArrayLargerThanItsFileIsRefused) {
  save_npy(path_, std::vector<float>(3));
  std::string text = contents();
  const std::string_view larger = "(1000000000000,), }";
  text.replace(text.find("(3,)"), larger.size(), larger);
  std::ofstream(path_, std::ios::binary) << text;
  try {
    load_npy<float>(path_);
    FAIL();
  } catch (const FormatError& e) {
    const std::string why = "needs 4000000000000 bytes of data and the file has 12";
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos);
  }
}

#ifndef __SANITIZE_ADDRESS__  // which ends the program
TEST_F(Npy, AFileForWhichThereIsNoMemoryIsAMemoryErrorThatNamesItAndItsBytes) {
  const std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (137438953472,), }";  // 1 TiB
  std::ofstream(path_, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00", 8) << std::string("\x76\x00", 2) << header
      << std::string(117 - header.size(), ' ') << '\n';
  fs::resize_file(path_, 128 + (std::uintmax_t{1} << 40));  // takes no room on the disk
  rlimit before{};
  ::getrlimit(RLIMIT_AS, &before);
  const rlimit limit{rlim_t{1} << 39, before.rlim_max};
  ::setrlimit(RLIMIT_AS, &limit);
  try {
    load_npy<double>(path_);
    ADD_FAILURE();
  } catch (const MemoryError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find(path_), std::string::npos) << text;
    EXPECT_NE(text.find("1099511627776"), std::string::npos) << text;
  }
  ::setrlimit(RLIMIT_AS, &before);
}
#endif

TEST_F(Npy, DeviceArraysAreSavedInTheirOrder) {
  const xt::xarray<float> host = counted<float>({3, 4});
  const DeviceNDArray<float> a(Shape{3, 4});
  a.copy_to_device(host);
  save_npy(path_, a);
  const xt::xarray<float> b = load_npy<float>(path_);
  EXPECT_EQ(b, host);
  save_npy(path_, a.transpose());
  const auto transposed = load_npy<float>(path_);
  EXPECT_EQ(transposed.shape(), Shape({4, 3}));
  EXPECT_EQ(transposed.strides(), Strides({1, 4}));
}

TEST_F(Npy, LoadedArraysGoToTheDeviceAsTheyLie) {
  const xt::xarray<float, xt::layout_type::column_major> host = counted<float>({3, 4});
  save_npy(path_, host);
  const DeviceNDArray<float> a = to_device(load_npy<float>(path_));
  xt::xarray<float> back = xt::zeros<float>({3, 4});
  a.copy_to_host(back);
  EXPECT_EQ(back, host);
}

}  // namespace
}  // namespace quarry
