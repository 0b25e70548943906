// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>

#include <new>

#include "backend/cpu/loops.hpp"
#include "backend/cpu/reduction.hpp"

namespace quarry::backend::cpu_backend {
namespace {

const kernels::reduce_loops& loops_of(const KernelCall& call) {
  return *static_cast<const kernels::reduce_loops*>(call.program->loops);
}

class Reduce final : public Reduction {
 public:
  explicit Reduce(const KernelCall& call) : Reduction(call, loops_of(call)) {}

 private:
  void finish(const OutputBlock& to, i64 /*begin*/, i64 /*end*/,
              const std::byte* accumulators) const override {
    loops_of(call()).finish(to.at[0], kept_step()[0], accumulators, to.count, call().reduced,
                            scalars());
  }
};

}  // namespace

void reduce_now(const KernelCall& call) {
  try {
    Reduce(call).run(false);
  } catch (const std::bad_alloc&) {
    throw MemoryError("no host memory for the accumulators of a reduction");
  }
}

}  // namespace quarry::backend::cpu_backend
