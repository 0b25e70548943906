// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/captures.hpp>

namespace quarry::detail {

constinit std::atomic<int> captured_streams = 0;

}  // namespace quarry::detail
