// SPDX-License-Identifier: BSD-3-Clause
#include "array/model.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "fake_driver/fake_driver.hpp"
#include "fake_driver/test_device.hpp"

namespace quarry {
namespace {

using test::counted;
using test::Host;
using test::Ints;
using test::Random;
using test::Seen;
using test::values;

struct Odd {
  float a, b, c;
  friend bool operator==(const Odd&, const Odd&) = default;
};

/// Host memory with any strides, in elements.
template <class T>
struct Strided {
  T* first;
  Ints extents, steps;
  T* data() { return first; }
  const T* data() const { return first; }
  const Ints& shape() const { return extents; }
  const Ints& strides() const { return steps; }
};

/// A host view like a model view of `memory`; empty axes keep their stride.
template <class T>
Strided<T> host_view(Host<T>& memory, const Seen<T>& seen) {
  Ints steps;
  for (const std::int64_t s : seen.array.strides()) {
    steps.push_back(s / static_cast<std::int64_t>(sizeof(T)));
  }
  const auto first = seen.array.empty() ? 0 : seen.model.at[0];
  return {memory.data() + first, seen.model.shape, steps};
}

template <class T>
Seen<T> random_view(Random& random, const Ints& shape, const Ints& base) {
  Seen<T> seen{DeviceNDArray<T>(test::as_shape(base)), test::whole(base)};
  if (random.coin()) seen = random.shuffle(seen);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    seen = random.cut(seen, d, random.exactly(shape[d], seen.model.shape[d]));
  }
  return seen;
}

template <class T>
class Transfer : public testing::Test {
 protected:
  /// Uploads a random host view into a random device view and downloads it into a third, and
  /// compares whole memories, so that an element written beside the view is seen too.
  void round_trip(Random& random, const Stream* s) {
    const auto rank = static_cast<std::size_t>(random.between(1, 3));
    const Ints shape = random.shape(rank, 5), base(rank, 9);
    const auto from = random_view<T>(random, shape, base), to = random_view<T>(random, shape, base),
               back = random_view<T>(random, shape, base);
    Host<T> source = made(base, 1), sink = made(base, 1000);
    const DeviceNDArray<T> whole({test::as_shape(base), c_strides(test::as_shape(base), sizeof(T))},
                                 to.array.buffer()->data(), to.array.buffer());
    whole.copy_to_device(made(base, 500));
    auto want_device = made(base, 500).list(), want_host = sink.list();
    for (std::size_t k = 0; k < to.model.at.size(); ++k) {
      const T value = source[static_cast<std::size_t>(from.model.at[k])];
      want_device[static_cast<std::size_t>(to.model.at[k])] = value;
      want_host[static_cast<std::size_t>(back.model.at[k])] = value;
    }
    auto up = host_view(source, from), down = host_view(sink, back);
    if (s) {
      to.array.copy_to_device(up, *s);
      source = made(base, 7777);  // may be reused on return
      to.array.copy_to_host(down, *s);
      s->synchronize();
    } else {
      to.array.copy_to_device(up);
      to.array.copy_to_host(down);
    }
    ASSERT_EQ(values(whole), want_device);
    ASSERT_EQ(sink.list(), want_host);
  }

  static Host<T> made(const Ints& shape, int first) {
    Host<T> host(shape);
    for (std::size_t i = 0; i < host.count(); ++i) host[i] = value(first + static_cast<int>(i));
    return host;
  }
  static T value(int i) {
    if constexpr (std::is_same_v<T, Odd>) {
      return {float(i), float(-i), 0.5f};
    } else {
      return static_cast<T>(i);
    }
  }
  static int rounds() { return test::kind_is_slow() ? 60 : 1000; }
};
using Types = testing::Types<std::uint8_t, std::int16_t, float, double, Odd>;
TYPED_TEST_SUITE(Transfer, Types);

TYPED_TEST(Transfer, AnyLayoutToAnyLayoutAndBack) {
  Random random(31);
  for (int i = 0; i < this->rounds(); ++i) {
    ASSERT_NO_FATAL_FAILURE(this->round_trip(random, nullptr)) << "round " << i;
  }
}

TYPED_TEST(Transfer, AnyLayoutInAStream) {
  Random random(32);
  const Stream s = stream();
  for (int i = 0; i < this->rounds() / 3; ++i) {
    ASSERT_NO_FATAL_FAILURE(this->round_trip(random, &s)) << "round " << i;
  }
}

TEST(TransferByHand, HostArraysThatRepeatElementsUploadButCannotBeWritten) {
  float one[] = {1, 2, 3};
  Strided<float> wide{one, {2, 3}, {0, 1}};
  const auto a = to_device(wide);
  EXPECT_EQ(values(a), (std::vector<float>{1, 2, 3, 1, 2, 3}));
  EXPECT_THROW(a.copy_to_host(wide), AliasError);
}

TEST(TransferByHand, ReversedHostArraysUploadInTheirOrder) {
  int memory[] = {1, 2, 3, 4};
  const Strided<int> reversed{memory + 3, {4}, {-1}};
  EXPECT_EQ(values(to_device(reversed)), (std::vector{4, 3, 2, 1}));
}

TEST(TransferByHand, ShapesMustAgree) {
  const auto a = zeros<float>({2, 3});
  Host<float> tall({3, 2}), flat({6}), right({2, 3});
  EXPECT_THROW(a.copy_to_device(tall), ShapeError);
  EXPECT_THROW(a.copy_to_device(flat), ShapeError);
  EXPECT_THROW(a.copy_to_host(tall), ShapeError);
  EXPECT_THROW(a.copy_to_device(zeros<float>({3})), ShapeError);
  EXPECT_THROW(a.copy_to_device(zeros<float>({3, 2})), ShapeError);
  EXPECT_NO_THROW(a.copy_to_device(right));
  try {
    a.copy_to_device(tall);
    FAIL();
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("(3, 2)"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("(2, 3)"), std::string::npos);
  }
}

TEST(TransferByHand, TypesMustAgreeAtRunTimeToo) {
  const auto a = zeros<float>({3});
  double host[3] = {};
  const HostRef other{reinterpret_cast<std::byte*>(host), dtype_of<double>, {Shape{3}, Strides{8}}};
  EXPECT_THROW(upload(a.ref(), other, a.stream(), true), DTypeError);
  EXPECT_THROW(download(other, a.ref(), a.stream(), true), DTypeError);
}

TEST(TransferByHand, EmptyArraysCopyWhateverTheirStrides) {
  const auto a = zeros<std::int8_t>({0, 3});
  Strided<std::int8_t> host{nullptr, {0, 3}, {0, 0}};
  EXPECT_NO_THROW(a.copy_to_device(host));
  EXPECT_NO_THROW(a.copy_to_host(host));
  EXPECT_NO_THROW(a.copy_to_device(zeros<std::int8_t>({0, 3})));
  EXPECT_EQ(to_device(host).shape(), (Shape{0, 3}));
}

TEST(TransferByHand, DevicesOfBothOrdersTakeHostsOfBothOrders) {
  for (const Order on_device : {Order::c, Order::f}) {
    for (const bool fortran_host : {false, true}) {
      auto memory = counted<int>({5, 6, 7});
      const Strided<int> host{memory.data(), {7, 6, 5}, {1, 7, 42}};
      const auto a =
          device_array<int>(fortran_host ? Shape{7, 6, 5} : Shape{5, 6, 7}, {.order = on_device});
      if (fortran_host) {
        a.copy_to_device(host);
        EXPECT_EQ(values(a.transpose()), memory.list());
      } else {
        a.copy_to_device(memory);
        EXPECT_EQ(values(a), memory.list());
      }
    }
  }
}

TEST(TransferByHand, WithoutAStreamACopyIsDoneOnReturn) {
  const Stream s = stream();
  std::vector<int> host(1000, 1);
  const auto a = full<int>({1000}, 7, {.stream = s});
  a.copy_to_host(host);
  EXPECT_EQ(host, std::vector<int>(1000, 7));
  std::fill(host.begin(), host.end(), 3);
  a.copy_to_device(host);
  std::fill(host.begin(), host.end(), 0);
  EXPECT_EQ(sum(a).item(), 3000);
}

TEST(TransferByHand, WithAStreamItIsOrderedThere) {
  const Stream s = stream();
  std::promise<void> open;
  s.add_callback([ready = open.get_future().share()](const Stream&) { ready.wait(); });
  std::vector<int> in(100, 5), out(100, 0);
  DeviceNDArray<int> kept;
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    open.set_value();
  });
  {
    const auto a = to_device(in, s);
    std::fill(in.begin(), in.end(), -1);  // may be reused on return
    kept = a * 2;
    kept.copy_to_host(out, s);
  }
  s.synchronize();
  opener.join();
  EXPECT_EQ(out, std::vector<int>(100, 10));
}

void expect_seen(const DeviceNDArray<float>& a, const std::vector<float>& values, const Stream& s) {
  std::vector<float> host(values.size());
  a.copy_to_host(host, s);
  s.synchronize();
  EXPECT_EQ(host, values) << values.size() << " elements";
}

/// The driver returns from an upload of pageable memory when it has taken the bytes; streams that
/// do not wait for the default stream read the array at once.
TEST(Transfer, AnUploadThatHasReturnedIsSeenByEveryStream) {
  const bool is_fake = test::kind() == test::Kind::fake;
  const fake::Behaviour before = is_fake ? fake::behaviour() : fake::Behaviour();
  const Stream s = stream({.non_blocking = true});
  for (unsigned seed = 1; seed <= 40; ++seed) {
    if (is_fake) fake::set_behaviour({.seed = seed});
    for (const std::size_t n : {std::size_t{1}, std::size_t{100}, std::size_t{10'000}}) {
      const std::vector<float> values(n, static_cast<float>(seed));
      const auto a = to_device(values);
      expect_seen(a, values, s);
      const auto b = zeros<float>({n});
      b.copy_to_device(values);
      expect_seen(b, values, s);
    }
  }
  if (is_fake) fake::set_behaviour(before);
}

}  // namespace
}  // namespace quarry
