// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include <string>

/// Handling of the driver's result codes. A code belongs to the device that this thread has bound
/// last (context.hpp).
namespace quarry::backend::cuda {

/// A source location. clang 14 has no std::source_location.
struct Where {
  const char* file;
  int line;
  static constexpr Where current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// "CUDA_ERROR_NAME (code): description".
std::string error_text(CUresult result);

namespace detail {
[[noreturn]] void raise(CUresult result, const Where& where);
[[noreturn]] void raise_launch(CUresult result, const Where& where);
}  // namespace detail

/// Throws the exception that the code stands for, with the caller's file and line.
inline void check(CUresult result, const Where& where = Where::current()) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    detail::raise(result, where);
}

/// The same for a kernel launch: a rejected configuration is a LaunchError.
inline void check_launch(CUresult result, const Where& where = Where::current()) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    detail::raise_launch(result, where);
}

/// Records a fatal code and ignores any other: for functions that must not throw.
void note(CUresult result) noexcept;

/// Whether the code says that the device's context is lost for good.
bool is_fatal(CUresult result) noexcept;

/// The device of later codes on this thread.
void set_checked_device(int device) noexcept;
/// Throws DeviceLost, with the first cause, if a fatal code has been seen on the device.
void require_alive(int device);
bool is_lost(int device) noexcept;
/// Marks every device as lost: the driver ends with the process.
void lose_all_devices() noexcept;

}  // namespace quarry::backend::cuda
