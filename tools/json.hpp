// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <nlohmann/json.hpp>
#include <string>

using Json = nlohmann::ordered_json;  // fields in the order in which they are written

/// `document` as a file holds it. Bytes that are not UTF-8, as in the name of a file, become
/// U+FFFD.
inline std::string json_text(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}
