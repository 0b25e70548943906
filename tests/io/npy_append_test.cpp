// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/creation.hpp>
#include <quarry/npy.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "io/in_folder.hpp"
#include "io/npy_format.hpp"
#include "message_of.hpp"

struct NpyRow {
  std::int32_t id;
  double x[2];
};
QUARRY_RECORD(NpyRow, id, x);

namespace quarry {
namespace {

namespace fs = std::filesystem;
using test::message_of;

class NpyAppend : public test::WithFile {
 protected:
  NpyAppend() : WithFile("a.npy") {}

  /// The bytes of save_npy, which are NumPy's.
  template <class A>
  std::string saved(const A& array) const {
    const std::string other = path("saved.npy");
    save_npy(other, array);
    return contents(other);
  }
  std::int64_t rows() const { return load_npy<float>(path_).shape()[0]; }
};

TEST_F(NpyAppend, RowsOfHostAndDeviceInAnyLayout) {
  const auto all_rows = arange<float>(60).reshape({20, 3});
  {
    NpyAppender<float> file(path_, {3});
    EXPECT_EQ(file.shape(), Shape({0, 3}));
    file.append(std::vector<float>{0, 1, 2});
    file.append(all_rows(1));
    file.append(all_rows(range(2, 5)));
    const auto turned = all_rows(range(5, 15)).transpose().copy();
    file.append(turned.transpose());
    file.append(all_rows(range(7, 7)));
    const std::string part = (folder_ / "part.npy").string();
    save_npy(part, all_rows(range(15, 20)).transpose().copy().transpose());  // Fortran order
    file.append(load_npy<float>(part));
    EXPECT_EQ(file.shape(), Shape({20, 3}));
  }
  EXPECT_EQ(contents(), saved(all_rows));
}

TEST_F(NpyAppend, NumbersAndRecords) {
  NpyAppender<double> numbers(path_);
  numbers.append(full<double>({}, 1.5));
  numbers.append(std::vector<double>{2.5, 3.5});
  numbers.close();
  EXPECT_EQ(contents(), saved(std::vector<double>{1.5, 2.5, 3.5}));

  fs::remove(path_);
  const std::vector<NpyRow> records{{1, {2, 3}}, {4, {5, 6}}};
  NpyAppender<NpyRow>(path_).append(std::span(records).first(1));
  NpyAppender<NpyRow>(path_).append(std::span(records).last(1));
  EXPECT_EQ(load_npy<NpyRow>(path_).data()[1].x[1], 6);
  EXPECT_EQ(contents().size(), saved(records).size());
}

TEST_F(NpyAppend, TheFileIsWholeAllTheTime) {
  NpyAppender<float> file(path_, {2});
  std::int64_t flushed = 0;
  for (std::int64_t n = 1; n < 2000; ++n) {
    file.append(std::vector<float>{float(n), 0});
    if (n % 7 == 0 || n == 10 || n == 100 || n == 1000) {
      file.flush({.sync = n == 7});
      flushed = n;
    }
    if (n % 50 == 0 || n < 20) {
      EXPECT_EQ(rows(), flushed);
    }
  }
  file.close();
  EXPECT_EQ(rows(), 1999);
}

TEST_F(NpyAppend, AFileOfNumPyGrows) {
  const auto a = arange<float>(12).reshape({4, 3});
  save_npy(path_, a(range(0, 2)));
  {
    NpyAppender<float> file(path_, {3});
    EXPECT_EQ(file.shape(), Shape({2, 3}));
    file.append(a(range(2, 4)));
  }
  EXPECT_EQ(contents(), saved(a));
}

TEST_F(NpyAppend, BytesBehindTheRowsAreWrittenOver) {
  save_npy(path_, std::vector<float>{1, 2});
  std::ofstream(path_, std::ios::binary | std::ios::app) << "left behind by a crash";
  NpyAppender<float>(path_).append(std::vector<float>{3});
  EXPECT_EQ(contents(), saved(std::vector<float>{1, 2, 3}));
}

TEST_F(NpyAppend, WhatDoesNotFitIsRefused) {
  save_npy(path_, zeros<float>({2, 3}));
  const std::string before = contents();
  const auto opened = [&](const Shape& item) {
    return [this, item] { NpyAppender<float>(path_, item); };
  };
  EXPECT_EQ(message_of<ShapeError>(opened({4})),
            path_ + ": holds shape (2, 3), not rows of shape (4,)");
  EXPECT_NE(message_of<ShapeError>(opened({})), "no error");
  EXPECT_NE(message_of<ShapeError>(opened({3, 1})), "no error");
  EXPECT_EQ(message_of<DTypeError>([&] { NpyAppender<int>(path_, {3}); }),
            path_ + ": holds float32, not int32");
  EXPECT_NE(message_of<IoError>([&] { NpyAppender<int>(folder_.string(), {3}); }), "no error");
  {
    NpyAppender<float> file(path_, {3});
    EXPECT_EQ(message_of<ShapeError>([&] { file.append(std::vector<float>(4)); }),
              path_ + ": cannot append shape (4,) to rows of shape (3,)");
    EXPECT_NE(message_of<ShapeError>([&] { file.append(zeros<float>({1, 1, 3})); }), "no error");
    EXPECT_NE(message_of<LogicError>([&] {
                file.append(std::span<const float>(static_cast<const float*>(nullptr), 3));
              }),
              "no error");
    EXPECT_EQ(message_of<IoError>(opened({3})), path_ + ": another NpyAppender has the file open");
    NpyAppender<float> moved = std::move(file);
    EXPECT_THROW(file.shape(), LogicError);  // NOLINT: the subject
    moved.close();
    moved.close();
    EXPECT_THROW(moved.append(std::vector<float>(3)), LogicError);
    EXPECT_THROW(moved.flush(), LogicError);
  }
  EXPECT_EQ(contents(), before);

  save_npy(path_, zeros<float>({3, 2}).transpose());
  EXPECT_NE(message_of<LogicError>(opened({3})), "no error");
  save_npy(path_, full<float>({}, 1));
  EXPECT_NE(message_of<ShapeError>(opened({})), "no error");
  std::ofstream(path_, std::ios::binary) << before << before;
  EXPECT_EQ(message_of<LogicError>(opened({3})),
            path_ + ": another array follows the first, and would be written over");
  std::ofstream(path_, std::ios::binary) << before.substr(0, 140);
  EXPECT_NE(message_of<FormatError>(opened({3})), "no error");
}

TEST_F(NpyAppend, AHeaderWithoutRoomIsRefusedBeforeAnythingIsWritten) {
  const std::string text = "{'descr': '|i1', 'fortran_order': False, 'shape': (9,), }";
  const std::string before = std::string("\x93NUMPY\x01\x00", 8) + char(text.size() + 1) + '\0' +
                             text + '\n' + "123456789";
  std::ofstream(path_, std::ios::binary) << before;
  NpyAppender<std::int8_t> file(path_);
  EXPECT_EQ(message_of<FormatError>([&] { file.append(std::vector<std::int8_t>{1}); }),
            path_ + ": npy: the header of shape (10,) needs 69 bytes and has room for 68");
  EXPECT_EQ(file.shape(), Shape({9}));
  file.close();
  EXPECT_EQ(contents(), before);
}

}  // namespace
}  // namespace quarry
