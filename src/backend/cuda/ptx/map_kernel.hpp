// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <quarry/kernels/params.hpp>

#include "backend/cuda/ptx/access.hpp"
#include "backend/cuda/ptx/code.hpp"
#include "backend/cuda/ptx/ptx_kernel.hpp"
#include "kernels/type_tree.hpp"

namespace quarry::backend::cuda {

/// A kernel that is asked for.
struct PtxRequest {
  std::string_view name;       ///< quarry::kernels::map_flat<map_of<...>, 4>
  std::string_view entry;      ///< the name that its code has
  std::vector<int> arguments;  ///< of the template, behind the program
  bool is_for_hopper;          ///< and newer GPUs, which launch it early: kernels/stream_order.cuh
};

/// A program of the family map: map_of<E, Out, Scalars, In...>.
struct PtxMap {
  std::vector<kernels::TypeTree> expressions;  ///< one for each output
  std::vector<TypeId> operands;                ///< the outputs, then the inputs
  int scalars = 0;

  std::size_t outputs() const { return expressions.size(); }
};

/// Nothing if an operand is none of real numbers: a side operand, one of complex numbers.
std::optional<PtxMap> ptx_map_of(const kernels::TypeTree& program);

/// What the kernels of maps have in common: the parameter block (quarry/kernels/params.hpp) and the
/// computation of a vector of elements.
class PtxMapKernel {
 public:
  /// `more` is the name of the kernel's second parameter, an int.
  PtxMapKernel(const PtxMap& map, int rank, const char* more)
      : map_(map), places_{static_cast<int>(map.operands.size()), map.scalars, rank}, more_(more) {}

  PtxKernel finished(const PtxRequest& request) const;

 protected:
  /// Of kernels/stream_order.cuh; first of all.
  void wait_for_stream(const PtxRequest& request);

  std::string word_of_block(int place) {
    return code_.wide_of("ld.param.u64", fmt::format("[block+{}]", 8 * place));
  }
  std::string pointer(std::size_t operand) {
    return word_of_block(kernels::block_places::pointers + static_cast<int>(operand));
  }
  std::string special(const char* name);  ///< "%tid.x", in a register
  std::string more();                     ///< the second parameter

  /// A vector of an input, loaded; of one element if all have that.
  struct Loaded {
    PtxAccess access;
    std::vector<std::string> words;
  };
  Loaded load(std::size_t operand, int width, const std::string& at) {
    const PtxAccess access(map_.operands[operand], width);
    return {access, access.load(code_, at)};
  }
  /// Writes the words of `width` elements to `outputs`, those of each output. The first element is
  /// at `position` in C order, a register of 64 bits. False if an expression has a part of which
  /// there is no PTX.
  bool compute(int width, const std::string& position, const std::vector<Loaded>& inputs,
               std::vector<std::vector<std::string>>& outputs);

  const PtxMap& map_;
  const kernels::block_places places_;
  PtxCode code_;

 private:
  PtxValue scalar(std::size_t number, TypeId type);

  const char* more_;
};

// map_flat and map_strided of kernels/map.cuh; nothing for what PtxMapKernel cannot compute.
std::optional<PtxKernel> flat_map(const PtxMap& map, const PtxRequest& request);
std::optional<PtxKernel> strided_map(const PtxMap& map, const PtxRequest& request);

}  // namespace quarry::backend::cuda
