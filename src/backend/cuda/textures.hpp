// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cuda.h>

#include "backend/cuda/driver/context.hpp"
#include "backend/ledger.hpp"
#include "backend/textures.hpp"

namespace quarry::backend::cuda {

/// The textures and surfaces of a GPU, in its primary context.
class CudaTextures final : public Textures {
 public:
  CudaTextures(CUdevice device, Context& context, Ledger& ledger)
      : device_(device), context_(&context), ledger_(&ledger) {}

  TextureLimits limits() override;
  std::uint64_t create_texture(const TextureMemory& memory, const TextureOptions& options) override;
  void destroy_texture(std::uint64_t texture) noexcept override;
  TextureMemory memory_of(std::uint64_t texture) override;
  std::uint64_t create_surface(void* array) override;
  void destroy_surface(std::uint64_t surface) noexcept override;
  void* array_of(std::uint64_t surface) override;

 private:
  CUdevice device_;
  Context* context_;
  Ledger* ledger_;  ///< counts them, whatever their handles
};

}  // namespace quarry::backend::cuda
