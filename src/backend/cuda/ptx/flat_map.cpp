// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <map>

#include "backend/cuda/ptx/map_kernel.hpp"

namespace quarry::backend::cuda {
namespace {

using kernels::block_places;

class FlatMapKernel : public PtxMapKernel {
 public:
  FlatMapKernel(const PtxMap& map, int width) : PtxMapKernel(map, 0, "backwards"), width_(width) {}

  /// False if an expression has a part of which there is no PTX.
  bool write(const PtxRequest& request) {
    wait_for_stream(request);
    const std::string kept = word_of_block(block_places::kept), thread = thread_number();
    const auto bits = std::countr_zero(static_cast<unsigned>(width_));
    const std::string first = code_.wide_of("shl.b64", fmt::format("{}, {}", thread, bits));
    const std::string end = code_.wide_of("add.s64", fmt::format("{}, {}", first, width_));
    const std::string is_whole = code_.test("setp.le.s64", end + ", " + kept);
    code_.add("@!{} bra REST", is_whole);
    if (!write_elements(first, width_)) return false;
    code_.add("ret");
    code_.label("REST");
    if (width_ > 1) {  // the last elements have a thread each
      const std::string vectors = code_.wide_of("shr.u64", fmt::format("{}, {}", kept, bits));
      const std::string one =
          code_.wide_of("mad.lo.s64", fmt::format("{}, {}, {}", vectors, width_ - 1, thread));
      const std::string is_there = code_.test("setp.lt.s64", one + ", " + kept);
      code_.add("@!{} bra END", is_there);
      if (!write_elements(one, 1)) return false;
      code_.label("END");
    }
    code_.add("ret");
    return true;
  }

 private:
  std::string thread_number() {
    const std::string block = special("%ctaid.x"), blocks = special("%nctaid.x");
    const std::string is_backwards = code_.test("setp.ne.u32", more() + ", 0");
    const std::string last = code_.word_of("add.u32", blocks + ", -1");
    const std::string from_end = code_.word_of("sub.u32", last + ", " + block);
    const std::string number =
        code_.word_of("selp.u32", fmt::format("{}, {}, {}", from_end, block, is_backwards));
    const std::string before = code_.wide_of("mul.wide.u32", number + ", " + special("%ntid.x"));
    return code_.wide_of("add.s64",
                         before + ", " + code_.wide_of("cvt.u64.u32", special("%tid.x")));
  }

  /// `width` elements from the one whose number is in the register `first` on. All loads come
  /// before the first store, so that they are in flight together.
  bool write_elements(const std::string& first, int width) {
    std::vector<std::string> at;
    std::vector<Loaded> inputs;
    std::map<std::size_t, std::string> before;  // bytes, by the size of an element
    for (std::size_t k = 0; k < map_.operands.size(); ++k) {
      const std::size_t size = DType(map_.operands[k]).itemsize();
      std::string& bytes = before[size];
      if (bytes.empty()) {
        bytes = code_.wide_of("shl.b64", fmt::format("{}, {}", first, std::countr_zero(size)));
      }
      at.push_back(code_.wide_of("add.s64", pointer(k) + ", " + bytes));
      if (k >= map_.outputs()) inputs.push_back(load(k, width, at[k]));
    }
    std::vector<std::vector<std::string>> outputs;
    if (!compute(width, first, inputs, outputs)) return false;
    for (std::size_t k = 0; k < map_.outputs(); ++k) {
      PtxAccess(map_.operands[k], width).store(code_, at[k], outputs[k]);
    }
    return true;
  }

  int width_;
};

}  // namespace

/// Of 16 elements the instructions are the limit, of which NVRTC makes fewer.
std::optional<PtxKernel> flat_map(const PtxMap& map, const PtxRequest& request) {
  constexpr int widest = 8;
  if (request.arguments.size() != 1 || request.arguments[0] > widest) return std::nullopt;
  FlatMapKernel kernel(map, request.arguments[0]);
  return kernel.write(request) ? std::optional(kernel.finished(request)) : std::nullopt;
}

}  // namespace quarry::backend::cuda
