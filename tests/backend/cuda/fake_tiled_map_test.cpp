// SPDX-License-Identifier: BSD-3-Clause
#include <numeric>

#include <quarry/kernels/map.hpp>

#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/fake_device.hpp"
#include "backend/cuda/jit/kernel.hpp"

/// How the kernels of maps by tiles are launched.
namespace quarry::backend {
namespace {

using namespace kernels;

class FakeTiledMaps : public OverFake {};

/// What shared memory has of a multiprocessor's memory is not the L1 cache's, through which tiles
/// are read.
TEST_F(FakeTiledMaps, PreferLessSharedMemoryThanTheirBlocksCouldHave) {
  using Copy = map_of<in<u8, 0>, u8, 0, u8>;
  const program& copy = program_for<Copy>::value;
  constexpr i64 rows = 300, columns = 501;
  std::vector<u8> values(rows * columns);
  std::iota(values.begin(), values.end(), u8{1});
  const OnDevice<u8> in(gpu(), values), out(gpu(), std::vector<u8>(rows * columns));
  KernelCall call = test::call_of(copy, {columns, rows}, {},
                                  {{out.data(), {rows, 1}}, {in.data(), {1, columns}}});
  call.any_order = true;
  gpu().launch(call, no_workspace(), nullptr);
  const std::vector<u8> result = out.values();
  for (i64 i = 0; i < rows * columns; ++i) {
    ASSERT_EQ(result[size_t(i)], values[size_t(i % rows * columns + i / rows)]) << i;
  }
  int tiled = 0;
  const auto* entry = static_cast<const cuda::LoadedKernel*>(copy.compiled.load());
  for (; entry; entry = entry->next) {
    if (entry->variant.kernel() != cuda::TiledMap::name) continue;
    int percent = -1;
    ASSERT_EQ(
        cuda::driver().FuncGetAttribute(
            &percent, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, entry->kernel.function),
        CUDA_SUCCESS);
    EXPECT_GT(percent, 0);
    EXPECT_LT(percent, 70);
    ++tiled;
  }
  EXPECT_EQ(tiled, 1);
}

}  // namespace
}  // namespace quarry::backend
