// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/device_view.hpp>
#include <quarry/quarry.hpp>

#include "array/model.hpp"
#include "array/source_kernels.hpp"
#include "gate.hpp"
#include "message_of.hpp"

/// What classes of the program, and arrays with their shapes, are for a kernel.
namespace quarry {
namespace {

using test::counted;
using test::HostLaunch;
using test::message_of;
using test::SourceKernels;
using test::times;
using test::values;

/// Host memory that the device has a copy of for a launch.
struct Table : ArgumentHandler {
  std::vector<float>* host;
  std::vector<std::string>* calls;
  std::string name = "table";
  mutable std::optional<DeviceNDArray<float>> memory = std::nullopt;

  Table(std::vector<float>& given, std::vector<std::string>& list, std::string called = "table")
      : host(&given), calls(&list), name(std::move(called)) {}
  const DeviceNDArray<float>& get_device_alloc() const {
    if (!memory) memory = empty<float>({static_cast<std::int64_t>(host->size())});
    return *memory;
  }
  void pre_call(const Stream& stream) const {
    calls->push_back("before " + name);
    memory->copy_to_device(*host, stream);
  }
  void post_call(const Stream& stream) const {
    calls->push_back("after " + name);
    memory->copy_to_host(*host, stream);
  }
};

/// A number that is counted up when it is passed.
struct Count : ArgumentHandler {
  mutable int next = 0;
  static constexpr bool waits = false;
  int get_device_alloc() const { return ++next; }
};

TEST_F(SourceKernels, take_what_a_handler_stands_for) {
  std::vector<std::string> calls;
  std::vector<float> host = counted(16);
  const Table table(host, calls);
  const Function twice = module().function("twice");
  twice.launch({.block = 16}, table);  // returns when all is done
  EXPECT_EQ(host, times(counted(16), 2));
  EXPECT_EQ(calls, (std::vector<std::string>{"before table", "after table"}));
  const Stream in = stream({.non_blocking = true});
  twice.launch({.block = 16, .stream = in}, table);
  EXPECT_EQ(host, times(counted(16), 4));
  const auto prepared = twice.prepare<float*>();
  prepared.prepared_call(1, 16, table);
  EXPECT_EQ(host, times(counted(16), 8));
}

TEST_F(SourceKernels, call_their_handlers_in_order) {
  std::vector<std::string> calls;
  std::vector<float> first = counted(8), second = counted(8);
  const Table a(first, calls, "a"), b(second, calls, "b");
  const Function lines = module().function("lines");
  const auto out = zeros<double>({8});
  EXPECT_THROW(lines.launch({.block = 8}, a, b), LogicError);
  calls.clear();
  lines.launch({.block = 8}, out, b, test::Line{1, 0, 1}, 8, false);
  EXPECT_EQ(calls, (std::vector<std::string>{"before b", "after b"}));
  EXPECT_EQ(values(out), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(SourceKernels, take_handlers_of_numbers_and_do_not_wait_for_them) {
  const Function lines = module().function("lines");
  const auto out = zeros<double>({4}), x = ones<double>({4});
  const auto in = to_device(counted(4));
  const Count count;
  synchronize();
  const Stream s = stream({.non_blocking = true});
  {
    test::Gate gate(s);
    lines.launch({.block = 4, .stream = s}, out, in, test::Line{1, 0, 1}, count, false);
    EXPECT_FALSE(s.is_done());
    lines.launch({.block = 4, .stream = s}, out, in, test::Line{2, 0, 1}, count, false);
  }
  s.synchronize();
  EXPECT_EQ(values(out), (std::vector<double>{2, 4, 0, 0}));
}

TEST_F(SourceKernels, are_not_launched_when_a_handler_throws) {
  struct Failing : ArgumentHandler {
    DeviceNDArray<float> memory;
    explicit Failing(const DeviceNDArray<float>& given) : memory(given) {}
    const DeviceNDArray<float>& get_device_alloc() const { return memory; }
    void pre_call(const Stream&) const { throw LogicError("not today"); }
  };
  const auto a = to_device(counted(16));
  const Function twice = module().function("twice");
  EXPECT_EQ(message_of<LogicError>([&] { twice.launch({.block = 16}, Failing(a)); }), "not today");
  twice.launch({.block = 16}, a);
  EXPECT_EQ(values(a), times(counted(16), 2));
}

TEST_F(SourceKernels, are_done_when_what_follows_them_throws) {
  struct Failing : ArgumentHandler {
    int get_device_alloc() const { return 8; }
    void post_call(const Stream&) const { throw LogicError("not today"); }
  };
  const Function lines = module().function("lines");
  const std::vector<float> x = counted(8);
  std::vector<double> out(8);
  const Stream in = stream({.non_blocking = true});
  lines.launch({.block = 8, .stream = in}, Out(out), In(x), test::Line{1, 0, 1}, 8, false);
  std::ranges::fill(out, 0);
  EXPECT_EQ(message_of<LogicError>([&] {
              lines.launch({.block = 8, .stream = in}, Out(out), In(x), test::Line{2, 0, 1},
                           Failing(), false);
            }),
            "not today");
  EXPECT_TRUE(in.is_done());
  EXPECT_EQ(out, (std::vector<double>{2, 4, 6, 8, 10, 12, 14, 16}));
}

constexpr const char* viewer = R"(
#include <quarry/device_view.cuh>
extern "C" __global__ void add_views(quarry::DeviceView<float, 2> a,
                                     quarry::DeviceView<const float, 2> b) {
  const long i = threadIdx.y, j = threadIdx.x;
  if (i < a.extent(0) && j < a.extent(1)) a(i, j) += b(i, j);
}
)";

void add_views_on_host(const HostLaunch& launch) {
  const auto a = launch.value<DeviceView<float, 2>>(0);
  const auto b = launch.value<DeviceView<const float, 2>>(1);
  const auto element = [&](const auto& view, std::int64_t i, std::int64_t j) {
    auto* const address = view.data() + i * view.stride(0) + j * view.stride(1);
    return reinterpret_cast<float*>(
        launch.find(reinterpret_cast<CUdeviceptr>(address), sizeof(float)));
  };
  for (std::int64_t i = 0; i < a.extent(0); ++i) {
    for (std::int64_t j = 0; j < a.extent(1); ++j) *element(a, i, j) += *element(b, i, j);
  }
}

class Views : public SourceKernels {
 protected:
  void SetUp() override {
    SourceKernels::SetUp();
    if (test::kind() != test::Kind::fake) return;
    constexpr std::size_t bytes = sizeof(DeviceView<float, 2>);
    fake::set_host_kernel("add_views", {{bytes, bytes}, add_views_on_host});
  }
  static Function kernel() { return compile(viewer).function("add_views"); }
};

TEST_F(Views, reach_the_elements_of_any_layout) {
  const auto a = zeros<float>({6, 8}), b = arange<float>(48).reshape({6, 8});
  const DeviceNDArray<const float> readable = b.transpose();
  // every second column from the end, and a transposed part
  const auto part = a(range(1, 5), range(7, 0, -2));
  const Function add = kernel();
  add.launch({.block = {8, 8}}, view_of<2>(part), view_of<2>(readable(range(0, 4), range(0, 4))));
  const auto want = zeros<float>({6, 8});
  want(range(1, 5), range(7, 0, -2)) = b.transpose()(range(0, 4), range(0, 4));
  EXPECT_EQ(values(a), values(want));
  const auto prepared = add.prepare<DeviceView<float, 2>, DeviceView<const float, 2>>();
  prepared.prepared_call(1, {8, 8}, view_of<2>(part),
                         view_of<2>(readable(range(0, 4), range(0, 4))));
  EXPECT_EQ(values(a), values(eval(want * 2.f)));
}

TEST_F(Views, keep_the_array_and_go_to_its_stream) {
  const Stream in = stream({.non_blocking = true});
  std::optional<DeviceNDArray<float>> a = zeros<float>({8, 8}, {.stream = in});
  const DeviceNDArray<const float> ones_of_stream = ones<float>({8, 8}, {.stream = in});
  const DeviceNDArray<float> kept = *a;
  const Function add = kernel();
  add.launch({.block = {8, 8}}, view_of<2>(*a), view_of<2>(ones_of_stream));
  in.synchronize();
  {
    test::Gate gate(in);
    add.launch({.block = {8, 8}}, view_of<2>(*a), view_of<2>(ones_of_stream));
    default_stream().synchronize();
    float first = 0;  // copied in the default stream, which does not wait for the other
    memcpy_dtoh(std::as_writable_bytes(std::span(&first, 1)), DevicePtr(kept.device_pointer()));
    EXPECT_EQ(first, 1) << "it ran in another stream";
  }
  a.reset();
  in.synchronize();
  EXPECT_EQ(values(kept), std::vector<float>(64, 2));
}

TEST_F(Views, are_of_the_rank_that_is_stated) {
  const auto a = zeros<float>({4, 4});
  EXPECT_THROW(view_of<3>(a), ShapeError);
  EXPECT_THROW(view_of<1>(a), ShapeError);
}

}  // namespace
}  // namespace quarry
