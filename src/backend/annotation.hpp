// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <cstdint>
#include <string>

/// Ranges of host time that profilers show (NVTX), in the domain "Quarry". Without a profiler, and
/// in builds without CUDA, nothing happens.
namespace quarry::backend {

/// Whether a profiler is attached; does not change after the first call.
bool has_annotations();
/// A range of the calling thread, with a number to show beside it. Ranges nest.
void begin_annotation(const std::string& text, std::uint64_t number);
void end_annotation();

}  // namespace quarry::backend
