// SPDX-License-Identifier: BSD-3-Clause
#if __has_include(<zlib.h>)
#include "io/zip_format.hpp"

#include <quarry/npz.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/deflate.hpp"
#include "io/npy_format.hpp"
#include "io/zip_fields.hpp"

namespace quarry::zip {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// Reads the end and the directory of an archive whose members' data are left out.
std::vector<Member> read_all(const std::string& directory, const Directory& where) {
  const std::string end = directory_end(where);
  const std::uint64_t size = where.offset + where.size + end.size();
  const End found = read_end(bytes_of(end), size);
  Directory read = found.directory;
  if (found.directory64) {
    EXPECT_EQ(*found.directory64, where.offset + where.size);
    read = read_directory64(bytes_of(end).first(directory64_size), found);
  }
  EXPECT_EQ(read, where);
  return read_members(bytes_of(directory), read);
}

TEST(ZipFormat, NumbersOf64BitsComeBack) {
  const std::uint64_t sizes[] = {0,          limit32,    limit32 + 1,
                                 0xfffffffe, 0xffffffff, std::uint64_t{1} << 40};
  for (const std::uint64_t size : sizes) {
    for (const std::uint64_t offset : sizes) {
      const Member member{"a.npy", 0, stored, 7, size, size, offset};
      const std::string entry = directory_entry(member);
      const auto read = read_all(entry, {1, entry.size(), offset + size + 100});
      EXPECT_EQ(read, std::vector{member}) << size << ' ' << offset;
      const std::string local = local_header(member);
      EXPECT_EQ(local_rest(bytes_of(local).first(local_size), member), local.size() - local_size);
      check_local(bytes_of(local).first(local_size), bytes_of(local).subspan(local_size), member);
    }
  }
}

TEST(ZipFormat, SeventyThousandMembers) {
  std::vector<Member> members;
  std::string directory;
  for (int i = 0; i < 70'000; ++i) {
    members.push_back({.name = std::to_string(i)});
    directory += directory_entry(members.back());
  }
  EXPECT_EQ(read_all(directory, {members.size(), directory.size(), 1000}), members);
}

/// An archive of one stored array of bytes 1 to 9, with whatever is wrong about it.
struct Recipe {
  Member directory{"a.npy"}, local{"a.npy"};
  std::string data = npy::make_header(TypeId::uint8, Order::c, {9}) + "\1\2\3\4\5\6\7\10\11";
  std::vector<Member> more = {};
  std::function<void(std::string&)> edit = [](std::string&) {};

  Recipe() {
    for (Member* const m : {&directory, &local}) {
      m->crc = crc_of(bytes_of(data));
      m->size = m->packed_size = data.size();
    }
  }
  std::string archive() const {
    std::string result = local_header(local) + data;
    Directory where{1 + more.size(), 0, result.size()};
    result += directory_entry(directory);
    for (const Member& member : more) result += directory_entry(member);
    where.size = result.size() - where.offset;
    result += directory_end(where);
    edit(result);
    return result;
  }
};

/// What is thrown when it is opened and its array is loaded; nothing if it is right.
std::string error_of(const Recipe& recipe) {
  const std::string path =
      (fs::temp_directory_path() / ("quarry_zip_" + std::to_string(::getpid()) + ".npz")).string();
  std::ofstream(path, std::ios::binary) << recipe.archive();
  std::string error;
  try {
    const auto array = NpzFile(path).load_npy<std::uint8_t>("a");
    EXPECT_TRUE(array.size() == 9 && array.data()[8] == 9);
  } catch (const FormatError& e) {
    error = e.what();
    EXPECT_TRUE(error.starts_with(path + ": ")) << error;
    error.erase(0, path.size() + 2);
  }
  fs::remove(path);
  return error;
}

TEST(ZipFormat, OneThatIsRight) { EXPECT_EQ(error_of({}), ""); }

std::string error_of(const std::function<void(Recipe&)>& change) {
  Recipe recipe;
  change(recipe);
  return error_of(recipe);
}
std::string error_of_both(const std::function<void(Member&)>& change) {
  return error_of([&](Recipe& r) {
    change(r.directory);
    change(r.local);
  });
}

TEST(ZipFormat, WhatIsNotReadIsNamed) {
  EXPECT_EQ(error_of_both([](Member& m) { m.flags = 1; }), "zip: 'a.npy' is encrypted");
  EXPECT_EQ(error_of_both([](Member& m) { m.flags = 1 << 6; }), "zip: 'a.npy' is encrypted");
  EXPECT_EQ(error_of_both([](Member& m) { m.flags = 1 << 5; }), "zip: 'a.npy' is a patch");
  EXPECT_EQ(error_of_both([](Member& m) { m.method = 14; }),
            "zip: 'a.npy' is packed by method 14; 0 (stored) and 8 (deflated) are read");
}

TEST(ZipFormat, ChecksumsAreChecked) {
  EXPECT_EQ(error_of_both([](Member& m) { m.crc = 0x1234abcd; }).substr(0, 24),
            "'a.npy': zip: the CRC is");
  for (const std::size_t at : {std::size_t{117}, Recipe().data.size() - 1}) {  // header, elements
    EXPECT_NE(error_of([&](Recipe& r) { r.data[at] = char(r.data[at] ^ 0x10); }), "") << at;
  }
  // also bytes after the array
  EXPECT_EQ(error_of([](Recipe& r) {
              r = Recipe();
              r.data += "tail";
              for (Member* const m : {&r.directory, &r.local}) {
                m->size = m->packed_size = r.data.size();
              }
            }).substr(0, 24),
            "'a.npy': zip: the CRC is");
}

TEST(ZipFormat, SizesThatLieAreRefused) {
  const std::uint64_t right = Recipe().data.size();
  for (const std::uint64_t wrong : {std::uint64_t{0}, right - 1, right + 1, std::uint64_t{1} << 32,
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    EXPECT_NE(error_of([&](Recipe& r) { r.directory.size = wrong; }), "") << wrong;
    EXPECT_NE(error_of([&](Recipe& r) { r.directory.packed_size = wrong; }), "") << wrong;
    EXPECT_NE(error_of([&](Recipe& r) { r.local.size = wrong; }), "") << wrong;
    EXPECT_NE(error_of([&](Recipe& r) { r.directory.offset = wrong | 1; }), "") << wrong;
    EXPECT_NE(error_of_both([&](Member& m) { m.size = m.packed_size = wrong; }), "") << wrong;
  }
  EXPECT_EQ(error_of([&](Recipe& r) { r.local.size = 5; }).substr(0, 41),
            "zip: 'a.npy' has 137 bytes (5 unpacked, C");
}

TEST(ZipFormat, MoreThanDeflateCanGiveIsRefusedBeforeItIsAllocated) {
  const std::string error = error_of_both([](Member& m) {
    m.method = deflated;
    m.size = std::uint64_t{1} << 40;
  });
  EXPECT_EQ(error, "zip: 1099511627776 bytes cannot be 137 of 'a.npy'");
}

TEST(ZipFormat, DeflatedDataThatAreNoneAreRefused) {
  EXPECT_EQ(error_of_both([](Member& m) { m.method = deflated; }).substr(0, 32),
            "'a.npy': zip: the data end early");
}

struct Collected final : npy::Sink {
  void write(std::span<const std::byte> more) override {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());
  }
  std::string bytes;
};

TEST(ZipFormat, DeflatedDataOfAnotherLengthAreRefused) {
  const std::string content = Recipe().data + "tail";
  Collected packed;
  Deflater deflater(packed);
  deflater.write(bytes_of(content));
  deflater.finish();
  const auto error = [&](const std::string& data, std::size_t size) {
    return error_of([&](Recipe& r) {
      r.data = data;
      for (Member* const m : {&r.directory, &r.local})
        *m = {"a.npy", 0, deflated, crc_of(bytes_of(content)), data.size(), size, 0};
    });
  };
  const auto why = [](const std::string& text) { return text.substr(0, text.rfind(':')); };
  const std::size_t size = content.size();
  EXPECT_EQ(error(packed.bytes, size), "");
  EXPECT_EQ(why(error(packed.bytes, size - 2)), "'a.npy': zip: there are more data");
  EXPECT_EQ(why(error(packed.bytes, size + 2)), "'a.npy': zip: the data end early");
  EXPECT_EQ(why(error(packed.bytes + "x", size)), "'a.npy': zip: there are bytes after the data");
  EXPECT_EQ(error("\xff" + packed.bytes, size),
            "'a.npy': zip: no deflated data: invalid block type: 0 of 141 bytes inflated");
  for (const std::size_t cut : {std::size_t{1}, std::size_t{2}, packed.bytes.size() - 1}) {
    EXPECT_EQ(why(error(packed.bytes.substr(0, packed.bytes.size() - cut), size)),
              "'a.npy': zip: the data are cut short")
        << cut;
  }
}

TEST(ZipFormat, NamesAreChecked) {
  const std::string nul("a\0.npy", 6);
  for (const std::string& name :
       {std::string(), std::string("/a.npy"), std::string("../a.npy"), std::string("a/../../b"),
        std::string("a\\b"), std::string(".."), nul}) {
    EXPECT_EQ(error_of_both([&](Member& m) { m.name = name; }).substr(0, 29),
              "zip: a member with the name '")
        << name;
  }
  EXPECT_EQ(error_of([](Recipe& r) { r.local.name = "b.npy"; }),
            "zip: 'a.npy' is 'b.npy' in its header");
}

TEST(ZipFormat, MembersThatShareNamesOrBytesAreRefused) {
  EXPECT_EQ(error_of([](Recipe& r) { r.more = {r.directory}; }),
            "zip: two members with the name 'a.npy'");
  EXPECT_EQ(error_of([](Recipe& r) {
              r.more = {r.directory};
              r.more[0].name = "b.npy";
            }),
            "zip: 'a.npy' shares its bytes");
  EXPECT_EQ(error_of([](Recipe& r) { r.more = {{.name = "b.npy", .offset = 100}}; }),
            "zip: 'a.npy' needs 192 bytes at 0, and what follows begins after 100");
}

TEST(ZipFormat, EndsThatLieAreRefused) {
  const std::size_t end = Recipe().archive().size() - 22;
  const auto set = [&](std::size_t at, std::string bytes) {
    return error_of([&](Recipe& r) {
      r.edit = [=](std::string& archive) { archive.replace(end + at, bytes.size(), bytes); };
    });
  };
  EXPECT_EQ(set(4, "\1"), "zip: an archive of several disks");
  EXPECT_EQ(set(8, std::string("\2\0\2\0", 4)), "zip: the directory has 1 entries, not 2");
  EXPECT_EQ(set(8, std::string("\0\0\0\0", 4)), "zip: the directory has 1 entries, not 0");
  EXPECT_NE(set(12, "\xff"), "");
  EXPECT_NE(set(16, "\xff"), "");
  EXPECT_EQ(set(20, "\1"), "zip: no end of an archive; is it one, or cut short?");
  EXPECT_NE(error_of([](Recipe& r) { r.edit = [](std::string& a) { a += "x"; }; }), "");
  EXPECT_NE(error_of([](Recipe& r) { r.edit = [](std::string& a) { a.insert(0, "x"); }; }), "");
}

TEST(ZipFormat, HeadersThatDisagreeAreRefused) {
  EXPECT_EQ(error_of([](Recipe& r) { r.local.method = deflated; }),
            "zip: 'a.npy' has flags 0x0 and method 8, and in the directory 0x0 and 0");
  EXPECT_EQ(error_of([](Recipe& r) { r.local.flags = 1 << 11; }),
            "zip: 'a.npy' has flags 0x800 and method 0, and in the directory 0x0 and 0");
}

TEST(ZipFormat, ExtraFieldsAreChecked) {
  const Member member{"a.npy", 0, stored, 7, limit32 + 1, limit32 + 1, 0};
  const std::string right = directory_entry(member);
  const std::string field = right.substr(right.size() - 20);
  const auto error = [&](const std::string& entry) {
    try {
      read_members(bytes_of(entry), {1, entry.size(), std::uint64_t{1} << 40});
    } catch (const FormatError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto with_extra = [&](const std::string& extra) {
    std::string entry = right.substr(0, right.size() - field.size()) + extra;
    entry[30] = char(extra.size());
    return error(entry);
  };
  EXPECT_EQ(with_extra(field), "");
  EXPECT_EQ(with_extra(std::string("\x34\x12\1\0?", 5) + field), "");
  EXPECT_EQ(with_extra(""), "zip: 'a.npy' has no extra field of sizes");
  EXPECT_EQ(with_extra(field + field), "zip: 'a.npy' has two extra fields of sizes");
  EXPECT_EQ(with_extra(field.substr(0, 19)), "zip: truncated: an extra field");
  EXPECT_EQ(with_extra(std::string("\1\0\10\0", 4) + field.substr(4, 8)),
            "zip: truncated: an extra field");
  std::string on_disk = right;
  on_disk[34] = 1;
  EXPECT_EQ(error(on_disk), "zip: 'a.npy' is on disk 1");
}

/// The end of an archive with numbers of 64 bits, changed.
TEST(ZipFormat, EndsOf64BitsThatLieAreRefused) {
  const Directory where{70'000, 100, 1000};
  const std::string right = directory_end(where);
  ASSERT_EQ(right.size(), directory64_size + 20 + 22);
  const auto read = [&](const std::string& end) {
    const End found = read_end(bytes_of(end), 1100 + end.size());
    return read_directory64(bytes_of(end).first(directory64_size), found);
  };
  EXPECT_EQ(read(right), where);
  const std::size_t numbers[] = {0, 4, 16, 20, 24, 32, 40, 48, 56 + 8, 56 + 16, 76 + 12, 76 + 16};
  for (const std::size_t at : numbers) {
    std::string wrong = right;
    wrong[at] = char(wrong[at] ^ 0x40);
    EXPECT_THROW(read(wrong), FormatError) << at;
  }
  std::string wrong = right;  // both ends with another size
  wrong[40] = wrong[76 + 12] = 101;
  EXPECT_THROW(read(wrong), FormatError);
  wrong = right;
  wrong[56 + 15] = 1;
  EXPECT_THROW(read_end(bytes_of(wrong), 1100 + wrong.size()), FormatError);
}

TEST(ZipFormat, ACommentIsSkipped) {
  EXPECT_EQ(error_of([](Recipe& r) {
              r.edit = [](std::string& archive) {
                archive[archive.size() - 2] = 5;
                archive += "PK\5\6!";
              };
            }),
            "");
}

}  // namespace
}  // namespace quarry::zip
#endif
