// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/assemble.hpp"

#include "backend/cuda/driver/check.hpp"
#include "backend/cuda/driver/driver.hpp"
#include "backend/cuda/driver/relaxed_capture.hpp"
#include "base/forked.hpp"

namespace quarry::backend::cuda {
namespace {

/// The driver's linker, which owns the code that it makes.
class Link {
 public:
  Link() = default;
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (state_) note(driver().LinkDestroy(state_));
  }

  Assembled code_of(const std::string& ptx) {
    if (const CUresult result = driver().LinkCreate(0, nullptr, nullptr, &state_)) return {result};
    std::string text = ptx;  // the driver's parameter is not const
    if (const CUresult result =
            driver().LinkAddData(state_, CU_JIT_INPUT_PTX, text.data(), text.size() + 1,
                                 "quarry_kernel.ptx", 0, nullptr, nullptr)) {
      return {result};
    }
    void* cubin = nullptr;
    std::size_t size = 0;
    if (const CUresult result = driver().LinkComplete(state_, &cubin, &size)) return {result};
    return {CUDA_SUCCESS, std::string(static_cast<const char*>(cubin), size)};
  }

 private:
  CUlinkState state_ = nullptr;
};

}  // namespace

Assembled assemble(const std::string& ptx) {
  const RelaxedCapture relaxed;
  const NoForks no_forks;  // as in NVRTC
  return Link().code_of(ptx);
}

}  // namespace quarry::backend::cuda
