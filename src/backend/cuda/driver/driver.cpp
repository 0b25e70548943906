// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/driver/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include <quarry/base/error.hpp>

namespace quarry::backend::cuda {
namespace {

struct Row {
  const char* symbol;
  int version;
  bool is_required;
  void** function;
};

/// Every entry of `table` in the order of driver.def.
auto rows(DriverTable& table) {
  constexpr bool required = true, optional = false;
  return std::to_array<Row>({
#define QUARRY_DRIVER(name, version, need) \
  {"cu" #name, version, need, reinterpret_cast<void**>(&table.name)},
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
  });
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace

LoadedDriver load_driver(GetProcAddress get) {
  auto table = std::make_unique<DriverTable>();
  for (const Row& row : rows(*table)) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    *row.function = nullptr;
    const CUresult result =
        get(row.symbol, row.function, row.version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
    const bool is_there =
        result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS && *row.function;
    if (is_there) continue;
    *row.function = nullptr;
    if (row.is_required) {
      return {nullptr, fmt::format("the NVIDIA driver has no {}, which came with CUDA {}: a newer "
                                   "driver is needed",
                                   row.symbol, version_text(row.version))};
    }
  }
  return {std::move(table), {}};
}

LoadedDriver load_driver(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return {nullptr, fmt::format("no NVIDIA driver was found: {}", dlerror())};
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(handle, "cuGetProcAddress_v2"));
  if (!get) {
    return {nullptr, fmt::format("{} has no cuGetProcAddress_v2, which came with CUDA 12.0: a "
                                 "newer driver is needed",
                                 library)};
  }
  return load_driver(get);
}

namespace detail {
constinit std::atomic<const DriverTable*> installed_driver = nullptr;

const DriverTable& first_driver() {
  static const auto& loaded = *new LoadedDriver(load_driver());  // for exit handlers too
  if (!loaded.table) throw BackendUnavailable(loaded.why);
  const DriverTable* expected = nullptr;
  installed_driver.compare_exchange_strong(expected, loaded.table.get());
  return *installed_driver.load();
}
}  // namespace detail

void use_driver(const DriverTable* table) { detail::installed_driver.store(table); }

}  // namespace quarry::backend::cuda
