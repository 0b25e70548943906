// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <Eigen/Core>

#include "array/format.hpp"

// Records against NumPy's structured arrays: texts, descriptions and files.

namespace saved {

struct Inner {
  std::int16_t a;
  std::uint8_t b[3];
};
QUARRY_RECORD(Inner, a, b);
struct Particle {
  double mass;
  float pos[3];
  std::int32_t id;
};
QUARRY_RECORD(Particle, mass, pos, id);
struct Mixed {
  std::int8_t x;
  std::array<Inner, 2> in;
  std::complex<float> z;
  Eigen::half h;
  bool ok;
  Inner n;
};
QUARRY_RECORD(Mixed, x, in, z, h, ok, n);
struct __attribute__((packed)) Packed {
  std::int8_t c;
  double d;
  std::int16_t s[2][2];
};
QUARRY_RECORD(Packed, c, d, s);
struct One {
  std::uint32_t x;
};
QUARRY_RECORD(One, x);
struct Long {
  float v[7][3];
};
QUARRY_RECORD(Long, v);

}  // namespace saved

namespace quarry {
namespace {

struct Printed {
  PrintOptions options;
  std::string_view text;
};
struct Case {
  std::string_view type;
  std::string_view hex;  ///< the elements in C order
  std::vector<int> shape;
  std::string_view descr;
  std::string_view file;   ///< what numpy.save writes
  std::string_view other;  ///< big-endian, without padding, with the fields in another order
  std::vector<Printed> printed;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
#include "record_cases.inc"
  };
  return all;
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(char(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return bytes;
}

/// A case as an array of its type.
template <class T>
struct Records {
  explicit Records(const Case& c)
      : bytes(from_hex(c.hex)), shape(c.shape), values(bytes.size() / sizeof(T)) {
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  std::string bytes;
  Shape shape;
  std::vector<T> values;
};

template <class F>
void each_case(F f) {
  ASSERT_GE(cases().size(), 30u);
  for (const Case& c : cases()) {
    SCOPED_TRACE(std::string(c.type) + ' ' + to_string(Shape(c.shape)));
    if (c.type == "Particle") f(c, Records<saved::Particle>(c));
    if (c.type == "Mixed") f(c, Records<saved::Mixed>(c));
    if (c.type == "Packed") f(c, Records<saved::Packed>(c));
    if (c.type == "One") f(c, Records<saved::One>(c));
    if (c.type == "Long") f(c, Records<saved::Long>(c));
  }
}

class RecordConformance : public testing::Test {
 protected:
  ~RecordConformance() override { std::filesystem::remove(path_); }

  void write(std::string_view hex) const {
    std::ofstream(path_, std::ios::binary) << from_hex(hex);
  }
  std::string contents() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string path_ = std::filesystem::temp_directory_path() /
                            ("quarry_records" + std::to_string(::getpid()) + ".npy");
};

TEST_F(RecordConformance, DescriptionsAreNumPys) {
  each_case(
      []<class T>(const Case& c, const Records<T>&) { EXPECT_EQ(descr(dtype_of<T>), c.descr); });
}

TEST_F(RecordConformance, ArraysPrintAsNumPyPrintsThem) {
  each_case([]<class T>(const Case& c, const Records<T>& r) {
    const Layout layout{r.shape, c_strides(r.shape, sizeof(T))};
    const auto* const data = reinterpret_cast<const std::byte*>(r.values.data());
    for (const Printed& printed : c.printed)
      EXPECT_EQ(format_array(dtype_of<T>, data, layout, printed.options), printed.text);
  });
}

TEST_F(RecordConformance, FilesAreNumPysByteForByte) {
  each_case([&]<class T>(const Case& c, const Records<T>& r) {
    DeviceNDArray<T> array(r.shape);
    array.copy_to_device(r.values);
    save_npy(path_, array);
    EXPECT_EQ(contents(), from_hex(c.file));
  });
}

TEST_F(RecordConformance, NumPysFilesComeBack) {
  each_case([&]<class T>(const Case& c, const Records<T>& r) {
    for (const std::string_view file : {c.file, c.other}) {
      write(file);
      const NpyArray<T> loaded = load_npy<T>(path_);
      EXPECT_EQ(loaded.shape(), r.shape);
      ASSERT_EQ(std::size_t(loaded.size()), r.values.size());
      const std::string_view got(reinterpret_cast<const char*>(loaded.data()), r.bytes.size());
      EXPECT_EQ(got, r.bytes);
      EXPECT_EQ(to_string(to_device(loaded)), c.printed[0].text);
    }
  });
}

TEST_F(RecordConformance, AFileOfOtherFieldsIsRefused) {
  for (const Case& c : cases()) {
    if (c.type == "Particle") continue;
    write(c.file);
    EXPECT_THROW(load_npy<saved::Particle>(path_), DTypeError) << c.type;
    EXPECT_THROW(load_npy<float>(path_), DTypeError) << c.type;
  }
}

}  // namespace
}  // namespace quarry
