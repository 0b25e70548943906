// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gate.hpp"

/// Every way to make an array of an array that is bound to a stream.
namespace quarry {
namespace {

using ReadOnly = DeviceNDArray<const int>;

template <class A>
struct Way {
  const char* name;
  std::function<ReadOnly(const A&)> make;
};

/// Of an array of shape (4, 1, 6).
template <class A>
std::vector<Way<A>> ways() {
  return {
      {"itself", [](const A& a) { return a; }},
      {"copied handle", [](const A& a) { return A(a); }},
      {"moved handle", [](const A& a) { return A(A(a)); }},
      {"integer", [](const A& a) { return a(1); }},
      {"subscript", [](const A& a) { return a[-1]; }},
      {"range", [](const A& a) { return a(range(1, 3)); }},
      {"newaxis", [](const A& a) { return a(newaxis, ellipsis); }},
      {"all", [](const A& a) { return a(all, all, range(_, _, -2)); }},
      {"view of a view", [](const A& a) { return a(range(1, 3))(all, 0).transpose(); }},
      {"reshape",
       [](const A& a) {
         return a.reshape({6, -1});
       }},
      {"ravel", [](const A& a) { return a.ravel(); }},
      {"transpose", [](const A& a) { return a.transpose(); }},
      {"axes",
       [](const A& a) {
         return a.transpose({1, 2, 0});
       }},
      {"squeeze", [](const A& a) { return a.squeeze(); }},
      {"squeeze axis", [](const A& a) { return a.squeeze({1}); }},
      {"split", [](const A& a) { return a.ravel().split(7).back(); }},
      {"broadcast_to",
       [](const A& a) {
         return a.broadcast_to({2, 4, 3, 6});
       }},
      {"base handle",
       [](const A& a) { return DeviceNDArray<int>(static_cast<const DeviceNDArrayBase&>(a)); }},
      {"read-only of the base",
       [](const A& a) { return ReadOnly(static_cast<const DeviceNDArrayBase&>(a)); }},
      {"read-only", [](const A& a) { return ReadOnly(a)(all, all, 2); }},
      {"read-only broadcast",
       [](const A& a) {
         return ReadOnly(a).broadcast_to({4, 2, 6});
       }},
      {"to_device", [](const A& a) { return to_device(a); }},
      {"to_device, the same", [](const A& a) { return to_device(a, a.device()); }},
      {"read-only to_device", [](const A& a) { return to_device(ReadOnly(a), a.device()); }},
      {"eval", [](const A& a) { return eval(a); }},
      {"copy", [](const A& a) { return a.copy(); }},
      {"flatten", [](const A& a) { return a.flatten(); }},
      {"flatten of a transpose", [](const A& a) { return a.transpose().flatten(); }},
      {"astype", [](const A& a) { return a.template astype<int>(); }},
      {"expression", [](const A& a) { return DeviceNDArray<int>(a + 0); }},
  };
}

template <class A>
void expect_in_the_bound_stream(const A& array, const Way<A>& way, bool is_held) {
  const Stream s = stream({.non_blocking = true});
  const A bound = array.bind(s);
  array.fill(0);
  array.stream().synchronize();
  DeviceNDArray<int> seen;
  {
    std::optional<test::Gate> gate;
    if (is_held) gate.emplace(s);
    bound(ellipsis) = 1;
    const ReadOnly made = way.make(bound);
    EXPECT_EQ(made.stream(), s);
    seen = made + 0;
    EXPECT_EQ(seen.stream(), s);
  }
  s.synchronize();
  EXPECT_EQ(test::values(seen), std::vector<int>(static_cast<std::size_t>(seen.size()), 1));
}

/// The array was written in a stream that is held back: what is made of it waits for that stream.
/// First without, as a GPU loads kernels when its streams are idle.
template <class A>
void expect_in_the_bound_stream(const A& array, const char* kind) {
  for (const Way<A>& way : ways<A>()) {
    SCOPED_TRACE(testing::Message() << kind << ", " << way.name);
    expect_in_the_bound_stream(array, way, false);
    expect_in_the_bound_stream(array, way, true);
  }
}

TEST(BoundView, EveryWayToMakeAnArrayOfOneKeepsItsStream) {
  const Stream home = stream({.non_blocking = true});
  expect_in_the_bound_stream(zeros<int>({4, 1, 6}, {.stream = home}), "device");
}

TEST(BoundView, HostVisibleArraysToo) {
  const Stream home = stream({.non_blocking = true});
  const auto mapped = mapped_array<int>({4, 1, 6}, {.stream = home});
  expect_in_the_bound_stream(mapped, "mapped");
  const auto managed = managed_array<int>({4, 1, 6}, {.stream = home});
  expect_in_the_bound_stream(managed, "managed");
  const Stream s = stream();
  EXPECT_EQ(mapped.bind(s)(0).transpose().stream(), s);
  EXPECT_EQ(mapped.bind(s).ravel().split(5)[1].stream(), s);
}

TEST(BoundView, ABindToAStreamOfAnotherDeviceIsRefused) {
  const auto a = zeros<int>({3});
  for (const Device& device : {Device::cpu(), gpus.size() > 1 ? gpus[1] : Device::cpu()}) {
    if (device == a.device()) continue;
    const Stream foreign = stream({.device = device});
    EXPECT_THROW(a.bind(foreign), LogicError);
    EXPECT_THROW(mapped_array<int>({3}).bind(foreign), LogicError);
  }
  EXPECT_EQ(sum(a).item(), 0);
}

TEST(BoundView, AnArrayWithoutABufferIsRefused) {
  EXPECT_THROW(DeviceNDArray<float>({Shape{3}, Strides{4}}, nullptr, nullptr), LogicError);
  EXPECT_THROW(DeviceNDArray<float>({Shape{0}, Strides{4}}, nullptr, nullptr), LogicError);
}

// --- read-only

/// Whether the run-time type knows that the elements may only be read.
TEST(ReadOnlyArray, TheBaseKnowsHoweverItIsMade) {
  const auto a = zeros<int>({4, 6});
  const ReadOnly view = a;
  ReadOnly assigned;
  assigned = view;
  ReadOnly from = view;
  const ReadOnly moved = std::move(from);
  const ReadOnly all_of_them[] = {view,
                                  assigned,
                                  moved,
                                  view(1),
                                  view.transpose(),
                                  view.reshape({24}),
                                  view.squeeze(),
                                  a.broadcast_to({2, 4, 6}),
                                  view.bind(a.stream()),
                                  to_device(view),
                                  to_device(view, view.device()),
                                  ReadOnly(a.layout(), a.device_pointer(), a.buffer()),
                                  ReadOnly(static_cast<const DeviceNDArrayBase&>(a))};
  for (const ReadOnly& one : all_of_them) {
    const DeviceNDArrayBase& base = one;
    EXPECT_TRUE(base.is_read_only());
    EXPECT_THROW(DeviceNDArray<int>{base}, LogicError);
    EXPECT_NO_THROW(ReadOnly{base});
    EXPECT_FALSE(one.copy().is_read_only());
  }
  const MappedNDArray<const int> mapped = mapped_array<int>({3});
  EXPECT_THROW(DeviceNDArray<int>(static_cast<const DeviceNDArrayBase&>(mapped)), LogicError);
  EXPECT_FALSE(a.is_read_only());
  EXPECT_FALSE(a(1).is_read_only());
  EXPECT_NO_THROW(DeviceNDArray<int>(static_cast<const DeviceNDArrayBase&>(a)));
  DeviceNDArray<int> rebound = a;
  rebound = view.copy();
  EXPECT_FALSE(rebound.is_read_only());
}

}  // namespace
}  // namespace quarry
