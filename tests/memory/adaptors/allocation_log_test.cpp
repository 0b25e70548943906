// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include <quarry/memory/allocation_log.hpp>
#include <quarry/memory/failing.hpp>

namespace quarry {
namespace {

static_assert(MemoryResource<AllocationLog>);

constexpr const char* titles = "Thread,Time,Action,Pointer,Size,Stream,Device,Resource";

Resource pool() { return Pool::of(get_current_device()); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

TEST(AllocationLog, EveryCallIsALine) {
  std::ostringstream out;
  const Resource upstream = pool();
  const AllocationLog log(upstream, out);
  const Stream s = stream();
  void* const a = log.allocate(s, 1000);
  log.deallocate(s, a, 1000);
  const auto lines = lines_of(out.str());
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], titles);
  std::ostringstream pointer, handle;
  pointer << std::hex << "0x" << reinterpret_cast<std::uintptr_t>(a);
  handle << std::hex << "0x" << s.handle();
  const auto first = fields_of(lines[1]), second = fields_of(lines[2]);
  ASSERT_EQ(first.size(), 8u);
  EXPECT_TRUE(std::regex_match(first[0], std::regex("[0-9]+")));
  EXPECT_TRUE(std::regex_match(first[1], std::regex("\\d\\d:\\d\\d:\\d\\d\\.\\d{6}"))) << first[1];
  EXPECT_EQ(first[2], "allocate");
  EXPECT_EQ(first[3], pointer.str());
  EXPECT_EQ(first[4], "1000");
  EXPECT_EQ(first[5], handle.str());
  EXPECT_EQ(first[6], to_string(get_current_device()));
  EXPECT_EQ(first[7], upstream.name());
  EXPECT_EQ(second[2], "free");
  EXPECT_EQ(second[3], pointer.str());
  EXPECT_EQ(second[0], first[0]);
}

TEST(AllocationLog, FailuresAreLinesToo) {
  std::ostringstream out;
  const AllocationLog log(Failing(pool(), {.nth = 1}), out);
  EXPECT_THROW(log.allocate(default_stream(), 77), MemoryError);
  const auto fields = fields_of(lines_of(out.str()).at(1));
  EXPECT_EQ(fields[2], "allocate failure");
  EXPECT_EQ(fields[3], "0x0");
  EXPECT_EQ(fields[4], "77");
}

TEST(AllocationLog, AFileIsCompleteWhenTheLastHandleIsGone) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("quarry_log_" + std::to_string(::getpid()) + ".csv");
  {
    std::optional<AllocationLog> log(std::in_place, pool(), path);
    const AllocationLog copy = *log;
    log.reset();
    const Stream s = default_stream();
    copy.deallocate(s, copy.allocate(s, 10), 10);
    EXPECT_NO_THROW(copy.flush());
  }
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  EXPECT_EQ(lines_of(text.str()).size(), 3u);
  std::filesystem::remove(path);
}

TEST(AllocationLog, AFileThatCannotBeWrittenIsAnIoError) {
  EXPECT_THROW(AllocationLog(pool(), std::filesystem::path("/nowhere/at/all.csv")), IoError);
  EXPECT_THROW(AllocationLog(pool(), std::filesystem::temp_directory_path()), IoError);
}

TEST(AllocationLog, AStreamThatFailsIsToldByFlush) {
  std::ostringstream out;
  const AllocationLog log(pool(), out);
  EXPECT_NO_THROW(log.flush());
  out.setstate(std::ios::badbit);
  const Stream s = default_stream();
  log.deallocate(s, log.allocate(s, 10), 10);
  EXPECT_THROW(log.flush(), IoError);
}

TEST(AllocationLog, NamesWithCommasAreQuoted) {
  struct Odd {
    void* allocate(const Stream& s, std::size_t n, std::size_t a) { return real.allocate(s, n, a); }
    void deallocate(const Stream& s, void* p, std::size_t n, std::size_t a) noexcept {
      real.deallocate(s, p, n, a);
    }
    MemorySpace space() const { return real.space(); }
    Device device() const { return real.device(); }
    std::string name() const { return "my \"own\", pool"; }
    Resource real;
  };
  std::ostringstream out;
  const AllocationLog log(Odd{pool()}, out);
  const Stream s = default_stream();
  log.deallocate(s, log.allocate(s, 10), 10);
  EXPECT_TRUE(lines_of(out.str()).at(1).ends_with(",\"my \"\"own\"\", pool\"")) << out.str();
}

TEST(AllocationLog, LinesOfThreadsAreWholeAndInAnOrderThatWorks) {
  std::ostringstream out;
  const AllocationLog log(pool(), out);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, device = get_current_device()] {
      const Stream s = default_stream(device);
      for (int k = 0; k < 100; ++k) log.deallocate(s, log.allocate(s, 100), 100);
    });
  }
  for (auto& thread : threads) thread.join();
  const auto lines = lines_of(out.str());
  ASSERT_EQ(lines.size(), 801u);
  std::map<std::string, bool> live;
  for (std::size_t k = 1; k < lines.size(); ++k) {
    const auto fields = fields_of(lines[k]);
    ASSERT_EQ(fields.size(), 8u) << lines[k];
    const bool is_free = fields[2] == "free";
    EXPECT_EQ(live[fields[3]], is_free) << "line " << k << ": " << lines[k];
    live[fields[3]] = !is_free;
  }
}

}  // namespace
}  // namespace quarry
