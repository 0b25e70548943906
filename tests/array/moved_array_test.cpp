// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "moved_from.hpp"

namespace quarry {
namespace {

using test::expect_refused;

template <class X>
std::string printed(const X& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

// NOLINTBEGIN(bugprone-use-after-move): that is the subject

template <class A>
void expect_empty(const A& a) {
  EXPECT_EQ(a.shape(), Shape{0});
  EXPECT_EQ(a.strides(), Strides{sizeof(typename A::value_type)});
  EXPECT_EQ(a.size(), 0);
  EXPECT_EQ(a.nbytes(), 0u);
  EXPECT_EQ(a.ndim(), 1u);
  EXPECT_EQ(a.len(), 0);
  EXPECT_TRUE(a.empty());
  EXPECT_TRUE(a.is_c_contiguous());
  EXPECT_TRUE(a.is_f_contiguous());
  EXPECT_EQ(a.dtype(), dtype_of<typename A::value_type>);
  EXPECT_EQ(a.device_pointer(), nullptr);
  EXPECT_EQ(printed(a), "[]");
}

template <class A>
void expect_members_refused(A& a) {
  std::vector<float> host;
  const Stream s = stream();
  expect_refused("device", [&] { a.device(); });
  expect_refused("stream", [&] { a.stream(); });
  expect_refused("buffer", [&] { a.buffer(); });
  expect_refused("ref", [&] { a.ref(); });
  expect_refused("index", [&] { a(all); });
  expect_refused("subscript", [&] { a[range(2)]; });
  expect_refused("write through", [&] { a(all) = 1.f; });
  expect_refused("copy", [&] { a.copy(); });
  expect_refused("astype", [&] { a.template astype<double>(); });
  expect_refused("reshape", [&] { a.reshape({0, 3}); });
  expect_refused("ravel", [&] { a.ravel(); });
  expect_refused("flatten", [&] { a.flatten(); });
  expect_refused("transpose", [&] { a.transpose(); });
  expect_refused("transpose axes", [&] { a.transpose({0}); });
  expect_refused("squeeze", [&] { a.squeeze(); });
  expect_refused("broadcast_to", [&] { a.broadcast_to({2, 0}); });
  expect_refused("bind", [&] { a.bind(s); });
  expect_refused("copy_to_host", [&] { a.copy_to_host(host); });
  expect_refused("copy_to_host, queued", [&] { a.copy_to_host(host, s); });
  expect_refused("copy_to_device", [&] { a.copy_to_device(host); });
  expect_refused("copy_to_device, queued", [&] { a.copy_to_device(host, s); });
  expect_refused("copy_to_device of an array", [&] { a.copy_to_device(zeros<float>({0})); });
  expect_refused("as a source", [&] { zeros<float>({0}).copy_to_device(a); });
  expect_refused("assign", [&] { a.assign(zeros<float>({0})); });
  expect_refused("assign an expression", [&] { a.assign(zeros<float>({0}) + 1.f); });
  expect_refused("fill", [&] { a.fill(1.f); });
  expect_refused("in an expression", [&] { eval(a + 1.f); });
  expect_refused("in place", [&] { a += 1.f; });
  expect_refused("sum", [&] { sum(a); });
  expect_refused("device_array_like", [&] { device_array_like(a); });
  expect_refused("zeros_like", [&] { zeros_like(a); });
  expect_refused("to_device", [&] { to_device(a, Device::cpu()); });
  expect_refused("DevicePtr", [&] { DevicePtr{a}; });
  EXPECT_THROW(a.item(), ShapeError);
  EXPECT_THROW(a(0), IndexError);
  EXPECT_THROW(get_ipc_handle(a), LogicError);
  EXPECT_TRUE(a.split(2).empty());
}

/// However it was moved from; another one can be put in its place.
template <class A>
void check(const A& original) {
  A by_construction = original, by_assignment = original;
  const A taken = std::move(by_construction);
  A target = original;
  target = std::move(by_assignment);
  for (A* const a : {&by_construction, &by_assignment}) {
    expect_empty(*a);
    expect_members_refused(*a);
    A copy = *a;
    expect_empty(copy);
    *a = original;
    EXPECT_EQ(sum(*a).item(), 6.f);
  }
  EXPECT_EQ(sum(taken).item(), 6.f);
  EXPECT_EQ(sum(target).item(), 6.f);
  A* const same = &target;
  target = std::move(*same);
  EXPECT_EQ(sum(target).item(), 6.f);
}

TEST(MovedArray, IsEmptyAndSaysSo) { check(ones<float>({2, 3})); }

TEST(MovedArray, MappedAndManagedArraysToo) {
  auto mapped = mapped_array<float>({2, 3});
  mapped.fill(1.f);
  check(mapped);
  auto managed = managed_zeros<float>({2, 3});
  managed.fill(1.f);
  check(managed);
  const auto mapped_there = std::move(mapped);
  const auto managed_there = std::move(managed);
  EXPECT_EQ(mapped.host_pointer(), nullptr);
  EXPECT_TRUE(mapped.host_span().empty());
  EXPECT_EQ(mapped.begin(), mapped.end());
  EXPECT_THROW(mapped.at(0), IndexError);
  expect_refused("prefetch", [&] { managed.prefetch(Device::cpu()); });
  expect_refused("advise", [&] { managed.advise(Advice::set_read_mostly); });
  expect_refused("attach", [&] { managed.attach(Attach::global); });
}

TEST(MovedArray, ReadOnlyOnesToo) {
  const auto a = ones<float>({2, 3});
  DeviceNDArray<const float> view = a;
  const DeviceNDArray<const float> there = std::move(view);
  expect_empty(view);
  expect_refused("copy", [&] { view.copy(); });
  view = a;
  EXPECT_EQ(sum(view).item(), 6.f);
}

TEST(MovedArray, AnEmptyArrayPrintsTheSame) { EXPECT_EQ(printed(zeros<float>({0})), "[]"); }

// NOLINTEND(bugprone-use-after-move)

}  // namespace
}  // namespace quarry
