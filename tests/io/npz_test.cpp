// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>
#include <quarry/npz.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "io/in_folder.hpp"

#if __has_include(<zlib.h>)

struct NpzParticle {
  std::int32_t id;
  float pos[2];
};
QUARRY_RECORD(NpzParticle, id, pos);

namespace quarry {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view goldens[] = {
#include "npz_cases.inc"
};
enum Golden { with_big, with_big_compressed, native, native_compressed, none };

std::string golden(Golden which) {
  const std::string_view hex = goldens[which];
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += char(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

template <class T>
std::vector<T> elements(const NpyArray<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

const std::vector<float> a_elements{0, 1, 2, 3, 4, 5};
const std::vector<double> f_elements{0, 3, 1, 4, 2, 5};  // column by column
const std::vector<NpzParticle> records{{1, {0.5f, 1.5f}}, {2, {2.5f, 3.5f}}};
const std::complex<float> z_element(1, 2);

bool is_a(const NpyArray<float>& a) {
  return elements(a) == a_elements && a.shape() == Shape{2, 3};
}

class Npz : public test::WithFile {
 protected:
  Npz() : WithFile("a.npz") {}
  NpzFile put(const std::string& text) const {
    fs::remove(path_);  // some file systems flush a file that is written over
    write(path_, text);
    return NpzFile(path_);
  }
};

/// All arrays of npz_cases.py but "big".
void expect_arrays(const NpzFile& file) {
  EXPECT_TRUE(is_a(file.load_npy<float>("a")));
  const auto fortran = file.load_npy<double>("fortran");
  EXPECT_EQ(fortran.strides(), Strides({1, 2}));
  EXPECT_EQ(elements(fortran), f_elements);
  const auto scalar = file.load_npy<std::int64_t>("scalar");
  EXPECT_EQ(scalar.shape(), Shape());
  EXPECT_EQ(*scalar.data(), -7);
  EXPECT_EQ(file.load_npy<std::uint8_t>("empty").shape(), Shape({0, 3}));
  EXPECT_EQ(elements(file.load_npy<bool>("flags")), std::vector<bool>({true, false}));
  const auto particles = file.load_npy<NpzParticle>("records");
  ASSERT_EQ(particles.shape(), Shape({2}));
  EXPECT_EQ(particles.data()[1].id, 2);
  EXPECT_EQ(particles.data()[1].pos[0], 2.5f);
  EXPECT_EQ(*file.load_npy<std::complex<float>>("layer/caf\u00e9").data(), z_element);
}

TEST_F(Npz, ReadsWhatNumPyWrites) {
  for (const Golden which : {with_big, with_big_compressed}) {
    const NpzFile file = put(golden(which));
    expect_arrays(file);
    EXPECT_EQ(elements(file.load_npy<std::uint16_t>("big")), std::vector<std::uint16_t>({0, 1, 2}));
    EXPECT_EQ(file.names(), std::vector<std::string>({"a", "fortran", "scalar", "empty", "big",
                                                      "flags", "records", "layer/caf\u00e9"}));
    EXPECT_EQ(file.dtype("fortran"), DType(TypeId::float64));
    EXPECT_EQ(file.shape("fortran"), Shape({2, 3}));
  }
}

/// The arrays of npz_cases.py in its order, but "big".
class Arrays {
 public:
  std::vector<NpzEntry> entries() const {
    return {{"a", a_},
            {"fortran", fortran_},
            {"scalar", scalar_},
            {"empty", empty_},
            {"flags", flags_},
            {"records", std::span(records)},
            {"layer/caf\u00e9", std::span(&z_element, 1)}};
  }

 private:
  DeviceNDArray<float> a_ = to_device(a_elements).reshape({2, 3});
  DeviceNDArray<double> fortran_ = to_device(f_elements).reshape({3, 2}).transpose();
  DeviceNDArray<std::int64_t> scalar_ = full<std::int64_t>({}, -7);
  DeviceNDArray<std::uint8_t> empty_ = zeros<std::uint8_t>({0, 3});
  DeviceNDArray<bool> flags_ = to_device({true, false});
};

TEST_F(Npz, SavezIsNumPysByteForByte) {
  savez(path_, Arrays().entries());
  EXPECT_EQ(contents(), golden(native));
  savez(path_, std::vector<NpzEntry>());
  EXPECT_EQ(contents(), golden(none));
  EXPECT_TRUE(NpzFile(path_).names().empty());
}

TEST_F(Npz, ArraysWithoutANameHaveThatOfTheirPlace) {
  const auto a = to_device(a_elements);
  savez(path_, {a, a_elements, {"w", a}, f_elements});
  const NpzFile file(path_);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"arr_0", "arr_1", "w", "arr_2"}));
  EXPECT_EQ(elements(file.load_npy<float>("arr_1")), a_elements);
  EXPECT_EQ(elements(file.load_npy<double>("arr_2")), f_elements);
  EXPECT_THROW(savez(path_, {{"arr_0", a}, a}), LogicError);  // as np.savez(f, a, arr_0=a)
}

TEST_F(Npz, NumPyReadsWhatIsWritten) {
  const Arrays arrays;
  std::vector<NpzEntry> entries = arrays.entries();
  const std::vector<std::uint16_t> big{0, 1, 2};
  entries.emplace_back("big", big);
  const std::string compressed = path("c.npz");
  savez(path_, entries, {.sync = true});
  savez_compressed(compressed, entries);
  expect_arrays(NpzFile(path_));
  expect_arrays(NpzFile(compressed));
  EXPECT_NE(contents(), golden(native_compressed));
  const std::string script = (fs::path(__FILE__).parent_path() / "npz_numpy.py").string();
  const std::string command =
      "PYTHONDONTWRITEBYTECODE=1 python3 " + script + ' ' + path_ + ' ' + compressed;
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe)
  EXPECT_TRUE(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77) << status;
}

TEST_F(Npz, LargeArraysComeBackDeflated) {
  std::vector<std::uint32_t> values(1'000'000);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    state = state * 1664525 + 1013904223;
    values[i] = i < values.size() / 2 ? std::uint32_t(i / 100) : state;
  }
  savez_compressed(path_, {{"x", values}});
  EXPECT_LT(fs::file_size(path_), 3'000'000u);
  EXPECT_EQ(elements(NpzFile(path_).load_npy<std::uint32_t>("x")), values);
}

TEST_F(Npz, NamesAreFoundAsNumPyFindsThem) {
  const std::vector<int> one{1}, two{2}, three{3};
  savez(path_, {{"a.npy", one}, {"b", two}});
  const NpzFile file(path_);
  EXPECT_EQ(file.names(), std::vector<std::string>({"a.npy", "b"}));
  EXPECT_EQ(*file.load_npy<int>("a.npy").data(), 1);
  EXPECT_EQ(*file.load_npy<int>("a.npy.npy").data(), 1);
  EXPECT_EQ(*file.load_npy<int>("b").data(), 2);
  EXPECT_EQ(*file.load_npy<int>("b.npy").data(), 2);
  EXPECT_TRUE(file.contains("b") && file.contains("b.npy") && file.contains("a.npy"));
  EXPECT_FALSE(file.contains("a") || file.contains("c") || file.contains(""));
  try {
    file.load_npy<int>("a");
    FAIL();
  } catch (const IndexError& e) {
    EXPECT_EQ(e.what(), path_ + ": no array 'a' among 2");
  }
  // a member's own name comes first: here "a.npy" is one, and another without its suffix
  savez(path_, {{"a.npy", one}, {"a", three}});
  EXPECT_EQ(*NpzFile(path_).load_npy<int>("a.npy").data(), 3);
}

TEST_F(Npz, AnotherTypeIsRefused) {
  const NpzFile file = put(golden(native));
  try {
    file.load_npy<int>("a");
    FAIL();
  } catch (const DTypeError& e) {
    EXPECT_EQ(e.what(), path_ + ": 'a.npy': holds float32, not int32");
  }
}

/// Loads all; an archive that is changed gives a typed error, or what was in it.
void load_all(const NpzFile& file) {
  if (file.names().size() != 7) throw FormatError("another number of members");
  expect_arrays(file);
}

TEST_F(Npz, EveryTruncationIsRefused) {
  for (const Golden which : {native, native_compressed}) {
    const std::string bytes = golden(which);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_THROW(put(bytes.substr(0, size)), FormatError) << size;
  }
}

TEST_F(Npz, EveryChangedByteIsAnErrorOrMakesNoDifference) {
  for (const Golden which : {native, native_compressed}) {
    const std::string bytes = golden(which);
    std::size_t harmless = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      constexpr int masks[] = {0x01, 0x80, 0xff};
      std::string changed = bytes;
      changed[at] = char(changed[at] ^ masks[at % 3]);
      try {
        load_all(put(changed));
        ++harmless;
      } catch (const FormatError&) {
      } catch (const IndexError&) {  // another name in the directory
      } catch (const DTypeError&) {  // the header, which is read before the checksum
      }
      ASSERT_FALSE(HasFailure()) << at;
    }
    EXPECT_LT(harmless, bytes.size() / 2);  // versions, dates, attributes
  }
}

TEST_F(Npz, MistakesInNamesAreTheCallersAndLeaveTheOldFile) {
  const std::vector<int> one{1};
  savez(path_, {{"a", one}});
  const std::string before = contents();
  for (const std::string name : {"", "/a", "../a", "b/../../a", "b\\a", "x"}) {
    EXPECT_THROW(savez(path_, {{"x", one}, {name, one}}), LogicError) << name;
  }
  EXPECT_THROW(savez(path_, {{std::string("a\0b", 3), one}}), LogicError);
  EXPECT_THROW(savez(path_, {{std::string(70'000, 'n'), one}}), LogicError);
  struct Pair {
    int a, b;
  };
  EXPECT_THROW(savez(path_, {{"x", one}, {"y", std::vector<Pair>(3)}}), DTypeError);
  EXPECT_EQ(contents(), before);
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(Npz, WhatIsNoArchiveIsNamed) {
  EXPECT_THROW(NpzFile(path("absent")), IoError);
  EXPECT_THROW(NpzFile(folder_.string()), IoError);
  save_npy(path_, a_elements);
  try {
    NpzFile{path_};
    FAIL();
  } catch (const FormatError& e) {
    EXPECT_EQ(e.what(), path_ + ": zip: no end of an archive; is it one, or cut short?");
  }
}

TEST_F(Npz, AnArchiveCutShortWhileItIsOpenIsAnError) {
  const NpzFile file = put(golden(native));
  fs::resize_file(path_, 100);
  EXPECT_THROW(file.load_npy<double>("fortran"), IoError);
}

}  // namespace
}  // namespace quarry

#endif
