// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <atomic>
#include <memory>
#include <string>

#include "backend/cuda/driver/newer.hpp"

/// The CUDA driver as one table of functions, loaded at run time: `driver().MemAlloc(&p, n)` is
/// cuMemAlloc. The table may be the real driver, a fake one, or one of the tests' that counts calls
/// of either.
namespace quarry::backend::cuda {

struct DriverTable {
#define QUARRY_DRIVER(name, version, need) decltype(&cu##name) name = nullptr;
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
};

/// One enumerator a driver function.
enum class DriverFunction {
#define QUARRY_DRIVER(name, version, need) name,
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
};
inline constexpr int driver_function_count = 0
#define QUARRY_DRIVER(name, version, need) +1
#include "backend/cuda/driver/driver.def"
#undef QUARRY_DRIVER
    ;

/// A table, or the reason why there is none.
struct LoadedDriver {
  std::unique_ptr<const DriverTable> table;
  std::string why;
};

/// cuGetProcAddress, version 2 of its interface (CUDA 12).
using GetProcAddress = CUresult (*)(const char* symbol, void** function, int version,
                                    cuuint64_t flags, CUdriverProcAddressQueryResult* status);

/// The table of the driver whose entry points `get` finds.
LoadedDriver load_driver(GetProcAddress get);
/// The table of the driver library with this soname. The library stays loaded to the end of the
/// process.
LoadedDriver load_driver(const char* library = "libcuda.so.1");

/// Installs another table, to be called before the first use of the backend. The table must live to
/// the end of the process.
void use_driver(const DriverTable* table);

namespace detail {
extern constinit std::atomic<const DriverTable*> installed_driver;
const DriverTable& first_driver();
}  // namespace detail

/// The installed table; without one the machine's driver, loaded on the first call and kept. Throws
/// BackendUnavailable saying why there is none.
inline const DriverTable& driver() {
  const DriverTable* table = detail::installed_driver.load(std::memory_order_acquire);
  return table ? *table : detail::first_driver();
}

}  // namespace quarry::backend::cuda
