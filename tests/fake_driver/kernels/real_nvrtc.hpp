// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

namespace quarry::fake {

/// With QUARRY_FAKE_NVRTC=real every kernel that the fake compiler is asked for is compiled by the
/// machine's NVRTC too, to PTX: what it complains about, or nothing. So what only NVRTC refuses is
/// seen without a GPU, in whatever test asks for it.
std::string complaint_of_nvrtc(const std::string& source,
                               const std::map<std::string, std::string>& headers,
                               const std::vector<std::string>& expressions,
                               std::span<const char* const> options);

/// The same of PTX, by the machine's nvJitLink, which has the driver's compiler of PTX.
std::string complaint_of_nvjitlink(const std::string& ptx);

}  // namespace quarry::fake
