// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

namespace quarry {

/// The bytes of a file. Throws RuntimeError "`what` NAME cannot be read: ...".
std::string whole_file(const char* what, const std::string& name);

}  // namespace quarry
