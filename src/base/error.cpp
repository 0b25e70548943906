// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/base/error.hpp>

#include <utility>

namespace quarry {

CompileError::CompileError(const std::string& message, std::string stdout_text,
                           std::string stderr_text, std::string command_line)
    : Error(stderr_text.empty() ? message : message + "\n" + stderr_text),
      message_(message),
      stdout_(std::move(stdout_text)),
      stderr_(std::move(stderr_text)),
      command_line_(std::move(command_line)) {}

}  // namespace quarry
