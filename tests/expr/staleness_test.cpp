// SPDX-License-Identifier: BSD-3-Clause
// The checked mode. ctest runs every test with QUARRY_CHECK=1, and this file without it too.
#include "array/model.hpp"
#include "memory/write_log.hpp"

#include <quarry/memory/block_copy.hpp>
#include <quarry/memory/memcpy.hpp>
#include <quarry/memory/memset.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace quarry {
namespace {

using test::values;
using Array = DeviceNDArray<float>;

struct Write {
  const char* name;
  std::function<void(const Array&)> run;  ///< writes 7 into every element of a (2, 3) array
};

const std::vector<float> sevens(6, 7.f);

std::vector<Write> writes() {
  const auto source = full<float>({2, 3}, 7.f);
  return {
      {"fill", [](const Array& a) { a.fill(7.f); }},
      {"number through a view", [](const Array& a) { a(all) = 7.f; }},
      {"strided fill", [](const Array& a) { a(all, range(_, _, 2)) = a(all, 1) = 7.f; }},
      {"expression", [=](const Array& a) { a(all) = source * 1.f; }},
      {"expression through a temporary",
       [=](const Array& a) { a(all, range(_, _, -1)) = a + 7.f; }},
      {"in place", [](const Array& a) { a += 7.f; }},
      {"array", [=](const Array& a) { a(all) = source; }},
      {"array of another type", [=](const Array& a) { a(all) = source.astype<short>(); }},
      {"copy_to_device", [=](const Array& a) { a.copy_to_device(source); }},
      {"upload", [](const Array& a) { a.copy_to_device(sevens); }},
      {"upload of another type",
       [](const Array& a) { a.copy_to_device(std::vector<short>(6, 7)); }},
      {"queued upload", [](const Array& a) { a.copy_to_device(sevens, a.stream()); }},
      {"host memory through a view", [](const Array& a) { a.ravel()(all) = sevens; }},
      {"through another handle", [](const Array& a) { a.transpose()(ellipsis) = 7.f; }},
      {"memcpy_htod", [](const Array& a) { memcpy_htod(a, sevens); }},
      {"memcpy_htod_async",
       [](const Array& a) { memcpy_htod_async(a, sevens, default_stream(a.device())); }},
      {"memcpy_dtod", [=](const Array& a) { memcpy_dtod(a, source, a.nbytes()); }},
      {"memset", [](const Array& a) { memset_d32(a, 0x40e00000, 6); }},
      {"memset of rows", [](const Array& a) { memset_d2d32(a, 12, 0x40e00000, 3, 2); }},
      {"copy of a box",
       [=](const Array& a) {
         Memcpy2D copy;
         copy.set_src_device(source);
         copy.set_dst_device(a);
         copy.width_in_bytes = 12;
         copy.height = 2;
         copy(true);
       }},
  };
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const LogicError& error) {
    return error.what();
  }
  return "";
}

TEST(Staleness, EveryKindOfWriteIsSeen) {
  for (const Write& write : writes()) {
    SCOPED_TRACE(write.name);
    const auto a = zeros<float>({2, 3});
    const auto b = ones<float>({3});
    const auto e = b + a * 2.f;
    EXPECT_EQ(values(eval(e)), std::vector<float>(6, 1.f));
    write.run(a);
    EXPECT_EQ(values(a), sevens);
    if (memory::checked_mode()) {
      const std::string message =
          "array 2 of the expression, of shape (2, 3) and float32, was written after the "
          "expression was made; eval() keeps values";
      EXPECT_EQ(message_of([&] { eval(e); }), message);
      EXPECT_EQ(message_of([&] { sum(e); }), message);
      EXPECT_EQ(message_of([&] { a(all) = e; }), message);
      EXPECT_EQ(values(a), sevens);
    } else {
      EXPECT_EQ(values(eval(e)), std::vector<float>(6, 15.f));
    }
    EXPECT_EQ(values(eval(b + a * 2.f)), std::vector<float>(6, 15.f));
  }
}

/// Memory of the host that is an array's as well.
struct HostWrite {
  const char* name;
  std::function<void(std::span<float> host)> run;  ///< writes 7 into its six elements
};

std::vector<HostWrite> host_writes() {
  const auto source = full<float>({2, 3}, 7.f);
  const auto shorts = full<short>({2, 3}, 7);
  const auto columns = full<float>({3, 2}, 7.f);
  return {
      {"download", [=](auto host) { source.copy_to_host(host); }},
      {"download of another type", [=](auto host) { shorts.copy_to_host(host); }},
      {"download of a view", [=](auto host) { columns.transpose().copy_to_host(host); }},
      {"queued download",
       [=](auto host) {
         source.copy_to_host(host, source.stream());
         source.stream().synchronize();
       }},
      {"memcpy_dtoh", [=](auto host) { memcpy_dtoh(host, source); }},
      {"memcpy_dtoh_async",
       [=](auto host) {
         memcpy_dtoh_async(host, source, source.stream());
         source.stream().synchronize();
       }},
      {"copy of a box",
       [=](auto host) {
         Memcpy2D copy;
         copy.set_src_device(source);
         copy.set_dst_host(host);
         copy.width_in_bytes = 12;
         copy.height = 2;
         copy(true);
       }},
  };
}

/// Throws if the checked mode is on, and has the right values otherwise.
void expect_stale(const std::function<DeviceNDArray<float>()>& evaluate) {
  if (memory::checked_mode()) {
    EXPECT_NE(message_of(evaluate).find("array 1 "), std::string::npos);
  } else {
    EXPECT_EQ(values(evaluate()), std::vector<float>(6, 14.f));
  }
}

TEST(Staleness, EveryWriteOfHostMemoryThatAnArrayHasIsSeen) {
  for (const HostWrite& write : host_writes()) {
    SCOPED_TRACE(write.name);
    const auto a = mapped_array<float>({2, 3});
    std::fill_n(a.host_pointer(), 6, 0.f);
    const auto e = a * 2.f;
    EXPECT_EQ(values(eval(e)), std::vector<float>(6, 0.f));
    write.run(std::span(a.host_pointer(), 6));
    EXPECT_EQ(values(a), sevens);
    expect_stale([&] { return eval(e); });
  }
}

TEST(Staleness, ADownloadIntoTheArraysOwnMemoryIsSeen) {
  const auto a = mapped_array<float>({7});
  std::fill_n(a.host_pointer(), 7, 7.f);
  const auto tail = a(range(1, _)), head = a(range(_, 6));
  const auto e = tail * 2.f;
  head.copy_to_host(std::span(a.host_pointer() + 1, 6));
  expect_stale([&] { return eval(e); });
}

TEST(Staleness, CopiesBetweenDevicesAreSeen) {
  if (Device().is_cpu() || gpus.size() < 2) GTEST_SKIP() << "wants two GPUs";
  const auto source = full<float>({2, 3}, 7.f, {.device = Device::cuda(1)});
  const std::vector<Write> peer_writes = {
      {"array of another GPU", [=](const Array& a) { a.copy_to_device(source); }},
      {"array of the CPU",
       [=](const Array& a) { a.copy_to_device(to_device(source, Device::cpu())); }},
      {"memcpy_peer", [=](const Array& a) { memcpy_peer(a, source, 24); }},
      {"memcpy_peer_async",
       [=](const Array& a) { memcpy_peer_async(a, source, 24, default_stream()); }},
      {"box of another GPU",
       [=](const Array& a) {
         Memcpy3DPeer copy;
         copy.set_src_device(source);
         copy.set_dst_device(a);
         copy.width_in_bytes = 24;
         copy.height = copy.depth = 1;
         copy();
       }},
  };
  for (const Write& write : peer_writes) {
    SCOPED_TRACE(write.name);
    const auto a = zeros<float>({2, 3});
    const auto e = a * 2.f;
    write.run(a);
    EXPECT_EQ(values(a), sevens);
    expect_stale([&] { return eval(e); });
  }
}

TEST(Staleness, AnIndexedExpressionIsAsOldAsTheWholeOne) {
  const auto a = zeros<float>({2, 3});
  const auto e = a + 1.f;
  a.fill(1.f);
  const auto part = e(0);
  if (memory::checked_mode()) {
    EXPECT_THROW(eval(part), LogicError);
  } else {
    EXPECT_EQ(values(eval(part)), std::vector<float>(3, 2.f));
  }
}

TEST(Staleness, AllElementsThatMayBeTakenCount) {
  for (const int written : {0, 3, 5}) {
    const auto a = arange<float>(6);
    const auto e = take<IndexMode::clip>(a, arange<int>(6) % 3) * 2.f;
    a(written) = 7.f;
    EXPECT_EQ(message_of([&] { eval(e); }).empty(), !memory::checked_mode()) << written;
  }
}

TEST(Staleness, OfSeveralArraysTheWrittenOneIsNamed) {
  const auto a = zeros<float>({4}), b = zeros<float>({4}), c = zeros<float>({4});
  const auto first = a + b;
  b.fill(1.f);
  const auto second = first * c;  // c is younger than the write
  c.fill(1.f);
  if (!memory::checked_mode()) return;
  EXPECT_NE(message_of([&] { eval(c * first); }).find("array 3 "), std::string::npos);
  EXPECT_NE(message_of([&] { eval(second); }).find("array 2 "), std::string::npos);
}

TEST(Staleness, WhatIsComputedAtOnceIsNotStale) {
  const auto a = ones<float>({4, 4});
  a += a * 2.f;
  a(range(1, _)) = a(range(_, -1)) + a(range(1, _));
  a(all) = a + a;
  EXPECT_EQ(sum(a).item(), 4 * 6.f + 12 * 12.f);
}

TEST(Staleness, WritesOfOtherElementsDoNotMatter) {
  const auto a = arange<float>(12);
  const auto even = a(range(_, _, 2)) + 0.f, head = a(range(_, 6)) + 0.f;
  a(range(1, _, 2)) = -1.f;
  EXPECT_EQ(values(eval(even)), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  a(range(6, _)) = -1.f;
  if (memory::checked_mode()) {
    EXPECT_THROW(eval(even), LogicError);
    EXPECT_THROW(eval(head), LogicError);  // its odd elements
  }
  const auto tail = a(range(6, _)) + 0.f;
  a(range(_, 6)).fill(0.f);
  zeros<float>({12}).fill(1.f);
  EXPECT_EQ(values(eval(tail)), std::vector<float>(6, -1.f));
}

}  // namespace
}  // namespace quarry
