// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The vectors of this processor, for which loops have copies; all copies give the same bits.
namespace quarry::backend::cpu_backend {

enum class Vectors { bytes_16, bytes_32, bytes_64 };

/// The longest that loops may use.
Vectors vectors();
/// For tests: loops use vectors of at most this length from now on, and none that the processor
/// lacks.
void limit_vectors(Vectors most);

}  // namespace quarry::backend::cpu_backend
