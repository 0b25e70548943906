// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/runtime/annotation.hpp>

#include "backend/annotation.hpp"

namespace quarry {

void set_annotations(bool wanted) { backend::show_operations(wanted); }
bool has_annotations() { return backend::shows_operations(); }

}  // namespace quarry
