// SPDX-License-Identifier: BSD-3-Clause
#include "io/npy_load.hpp"

#include <quarry/array/creation.hpp>
#include <quarry/npz.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "io/in_folder.hpp"

struct NpyPair {
  std::int8_t a;
  double b;
};
QUARRY_RECORD(NpyPair, a, b);

namespace quarry {
namespace {

namespace fs = std::filesystem;

class NpyLoad : public test::WithFile {
 protected:
  NpyLoad() : WithFile("a") {}
  void put(const std::string& text) const { write(path_, text); }
};

template <class T>
std::vector<T> drawn(std::int64_t count) {
  std::mt19937 random(7);
  std::vector<T> values(std::size_t(count), T{});
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

template <class T>
std::vector<T> in_c_order(const DeviceNDArray<T>& array) {
  std::vector<T> values(std::size_t(array.size()));
  array.copy_to_host(values);
  return values;
}

/// Small, and so large that it is staged in several chunks.
const Shape shapes[] = {{}, {0}, {3, 0, 2}, {5}, {7, 3}, {3'000'017}, {1009, 3, 701}};

TEST_F(NpyLoad, GivesWhatTheHostWouldUploadInTheOrderOfTheFile) {
  for (const Shape& shape : shapes) {
    const auto values = drawn<std::int32_t>(element_count(shape));
    const auto a = to_device(values).reshape(shape);
    save_npy(path_, a);
    const auto c = load<std::int32_t>(path_);
    EXPECT_EQ(c.shape(), shape);
    EXPECT_TRUE(c.is_c_contiguous());
    EXPECT_TRUE(in_c_order(c) == values) << shape;

    save_npy(path_, a.transpose());
    const auto f = load<std::int32_t>(path_);
    EXPECT_TRUE(f.is_f_contiguous());
    EXPECT_TRUE(in_c_order(f.transpose()) == values) << shape;
    const auto turned = load<std::int32_t>(path_, {.order = Order::c});
    EXPECT_TRUE(turned.is_c_contiguous());
    EXPECT_TRUE(in_c_order(turned.transpose()) == values) << shape;
  }
}

TEST_F(NpyLoad, WhatIsConvertedIsConverted) {
  const auto values = drawn<std::uint16_t>(1'500'001);
  std::string file = npy::make_header(TypeId::uint16, Order::c, {1'500'001});
  file.replace(file.find('<'), 1, ">");
  for (const std::uint16_t value : values) file += {char(value >> 8), char(value & 0xff)};
  put(file);
  EXPECT_TRUE(in_c_order(load<std::uint16_t>(path_)) == values);

  const auto bytes = drawn<std::uint8_t>(2'000'003);
  put(npy::make_header(TypeId::bool_, Order::c, {2'000'003}) +
      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  const auto flags = load<bool>(path_);
  std::vector<std::uint8_t> as_bytes(bytes.size());
  memcpy_dtoh(as_bytes, DevicePtr(flags));
  EXPECT_TRUE(
      std::ranges::equal(as_bytes, bytes, [](int got, int in) { return got == (in != 0); }));
}

TEST_F(NpyLoad, RecordsLieAsInMemoryOrArePacked) {
  const std::vector<NpyPair> pairs{{1, 2.5}, {3, 4.5}};
  save_npy(path_, pairs);
  EXPECT_EQ(in_c_order(load<NpyPair>(path_))[1].b, 4.5);
  std::string file =
      "{'descr': [('b', '<f8'), ('a', '|i1')], 'fortran_order': False, 'shape': (2,), }";
  file.append(117 - file.size(), ' ');
  file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + file + '\n';
  for (const NpyPair& pair : pairs) {
    file.append(reinterpret_cast<const char*>(&pair.b), 8);
    file += char(pair.a);
  }
  put(file);
  const auto loaded = in_c_order(load<NpyPair>(path_));
  EXPECT_TRUE(loaded[0].b == 2.5 && loaded[1].b == 4.5 && loaded[1].a == 3);
  EXPECT_THROW(map_npy<NpyPair>(path_), DTypeError);
}

TEST_F(NpyLoad, AnotherTypeIsRefused) {
  save_npy(path_, std::vector<double>(3));
  EXPECT_THROW(load<float>(path_), DTypeError);
  EXPECT_THROW(map_npy<float>(path_), DTypeError);
  EXPECT_THROW(load<float>((folder_ / "absent").string()), IoError);
}

/// An .npy file in memory that notes how it is read.
class Noted final : public npy::Content {
 public:
  struct Read {
    std::uint64_t at;
    std::span<std::byte> out;
  };

  Noted(std::string file, std::uint64_t available)
      : Content("noted", file.size()), file_(std::move(file)), available_(available) {}

  void peek(std::span<std::byte> out) override {
    std::memcpy(out.data(), file_.data(), out.size());
  }
  void read(std::uint64_t at, std::span<std::byte> out) override {
    if (at + out.size() > available_) throw IoError("the file became shorter");
    std::memcpy(out.data(), file_.data() + at, out.size());
    const std::lock_guard lock(mutex_);
    reads.push_back({at, out});
  }
  bool is_parallel() const noexcept override { return true; }
  void verify() override { ++verified; }

  std::vector<Read> reads;
  int verified = 0;

 private:
  std::string file_;
  std::uint64_t available_;
  std::mutex mutex_;
};

std::string large_file(std::int64_t count) {
  const auto values = drawn<float>(count);
  return npy::make_header(TypeId::float32, Order::c, {count}) +
         std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4);
}

TEST_F(NpyLoad, NoCopyOfTheFileIsMadeInHostMemory) {
  constexpr std::int64_t count = 3'000'000;
  auto content = std::make_unique<Noted>(large_file(count), UINT64_MAX);
  Noted& noted = *content;
  npy::Reader reader(std::move(content));
  const DeviceNDArray<float> array = npy::load_array(reader, dtype_of<float>, {});
  EXPECT_TRUE(in_c_order(array) == drawn<float>(count));
  EXPECT_EQ(noted.verified, 1);
  if (array.device().is_cpu()) {
    ASSERT_EQ(noted.reads.size(), 1u);
    EXPECT_EQ(noted.reads[0].out.data(), array.device_pointer());
    return;
  }
  std::ranges::sort(noted.reads, {}, &Noted::Read::at);
  std::uint64_t at = reader.header().data_offset;
  for (const Noted::Read& read : noted.reads) {  // every byte once, in small blocks
    EXPECT_EQ(read.at, at);
    EXPECT_LE(read.out.size(), 256u << 10);
    at += read.out.size();
  }
  EXPECT_EQ(at, noted.size());
}

TEST_F(NpyLoad, AFileThatIsCutShortMeanwhileIsAnError) {
  for (const std::int64_t count : {1000, 3'000'000}) {
    const std::string file = large_file(count);
    npy::Reader reader(std::make_unique<Noted>(file, file.size() - 5));
    EXPECT_THROW(npy::load_array(reader, dtype_of<float>, {}), IoError);
    npy::Reader whole(std::make_unique<Noted>(file, UINT64_MAX));
    const DeviceNDArray<float> array = npy::load_array(whole, dtype_of<float>, {});
    EXPECT_TRUE(in_c_order(array) == drawn<float>(count));

    put(file);
    npy::Reader cut{path_};
    fs::resize_file(path_, file.size() - 5);
    EXPECT_THROW(npy::load_array(cut, dtype_of<float>, {}), IoError);
  }
}

TEST_F(NpyLoad, AMappedFileIsAReadOnlyArrayThatKeepsItOpen) {
  for (const Shape& shape : shapes) {
    const auto values = drawn<std::int32_t>(element_count(shape));
    const auto a = to_device(values).reshape(shape);
    save_npy(path_, a.transpose());
    const DeviceNDArray<const std::int32_t> mapped = map_npy<std::int32_t>(path_);
    fs::remove(path_);
    EXPECT_TRUE(mapped.device().is_cpu());
    EXPECT_TRUE(mapped.is_read_only());
    EXPECT_TRUE(mapped.is_f_contiguous());
    std::vector<std::int32_t> back(values.size());
    mapped.transpose().copy_to_host(back);
    EXPECT_TRUE(back == values) << shape;
    EXPECT_EQ(sum(mapped).item(), sum(a).item());
  }
}

TEST_F(NpyLoad, BigEndianNumbersAreNotMapped) {
  save_npy(path_, std::vector<float>(3));
  std::string file = contents();
  file.replace(file.find('<'), 1, ">");
  put(file);
  EXPECT_THROW(map_npy<float>(path_), DTypeError);
  EXPECT_EQ(load<float>(path_).size(), 3);
}

#if __has_include(<zlib.h>)
TEST_F(NpyLoad, MembersOfArchivesToo) {
  for (const std::int64_t count : {0, 1000, 3'000'000}) {
    const auto values = drawn<std::uint32_t>(count);
    savez(path_, {{"x", values}, {"y", values}});
    const NpzFile file(path_);
    EXPECT_TRUE(in_c_order(file.load<std::uint32_t>("x")) == values);
    EXPECT_TRUE(in_c_order(file.load<std::uint32_t>("y.npy")) == values);
    savez_compressed(path_, {{"x", values}});
    EXPECT_TRUE(in_c_order(NpzFile(path_).load<std::uint32_t>("x")) == values);
  }
}

TEST_F(NpyLoad, TheChecksumOfAMemberIsThatOfAllItsBlocks) {
  const auto values = drawn<std::uint32_t>(3'000'000);
  savez(path_, {{"x", values}});
  const std::string right = contents();
  const std::size_t begin = right.find("\x93NUMPY");
  for (const std::size_t at :
       {std::size_t{127}, std::size_t{128}, std::size_t{5'000'000}, 127 + 4 * values.size()}) {
    std::string wrong = right;
    wrong[begin + at] = char(wrong[begin + at] ^ 0x04);
    put(wrong);
    EXPECT_THROW(NpzFile(path_).load<std::uint32_t>("x"), FormatError) << at;
  }
}
#endif

}  // namespace
}  // namespace quarry
