// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/load_image.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/relaxed_capture.hpp"

namespace quarry::backend::cuda {

namespace {

/// The driver writes results over the values that it was given, which have the size of a pointer.
void read_result(CUjit_option name, void* const& value, LoadLog& log) {
  if (name == CU_JIT_WALL_TIME) std::memcpy(&log.wall_ms.emplace(), &value, sizeof(float));
  if (name == CU_JIT_THREADS_PER_BLOCK) {
    std::memcpy(&log.threads_per_block.emplace(), &value, sizeof(unsigned));
  }
}

}  // namespace

bool is_refused(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_INVALID_SOURCE:
    case CUDA_ERROR_NOT_FOUND:
      return true;
    default:
      return false;
  }
}

LoadedImage load_image(const std::string& image,
                       std::span<const std::pair<JitOption, unsigned>> options) {
  const RelaxedCapture relaxed;
  std::array<char, 32 << 10> info{}, error{};
  const auto number = [](std::size_t value) { return reinterpret_cast<void*>(value); };
  std::vector names{CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                    CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::vector<void*> values{info.data(), number(info.size() - 1), error.data(),
                            number(error.size() - 1)};
  const std::size_t own = names.size();
  for (const auto& [option, value] : options) {
    names.push_back(static_cast<CUjit_option>(option));
    values.push_back(number(value));
  }
  LoadedImage loaded;
  loaded.result =
      driver().ModuleLoadDataEx(&loaded.module, image.c_str(), static_cast<unsigned>(names.size()),
                                names.data(), values.data());
  loaded.log.info = info.data(), loaded.log.error = error.data();
  if (loaded.result != CUDA_SUCCESS) return loaded;
  for (std::size_t k = own; k < names.size(); ++k) read_result(names[k], values[k], loaded.log);
  return loaded;
}

}  // namespace quarry::backend::cuda
