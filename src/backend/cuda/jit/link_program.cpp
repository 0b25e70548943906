// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <quarry/base/error.hpp>

#include "backend/cuda/jit/nvjitlink.hpp"
#include "backend/link.hpp"
#include "base/forked.hpp"

/// Compiled code of programs, linked.
namespace quarry::backend {
namespace {

using namespace cuda;

/// What the result codes say, in their order.
std::string reason(int result) {
  static constexpr std::array reasons{"",
                                      "unrecognized option",
                                      "the option -arch=sm_NN is missing",
                                      "invalid input",
                                      "PTX did not compile",
                                      "LTO-IR did not compile",
                                      "internal error",
                                      "its threads failed",
                                      "unrecognized input",
                                      "finalizing failed",
                                      "an input is null",
                                      "options that do not go together",
                                      "an input is of another type than it is said to be",
                                      "an input is for another architecture",
                                      "an input is newer than nvJitLink",
                                      "the fatbin has nothing for the architecture",
                                      "unrecognized architecture",
                                      "unsupported architecture",
                                      "LTO-IR needs the option -lto"};
  const auto number = static_cast<std::size_t>(result);
  const bool is_known = result > 0 && number < reasons.size();
  return fmt::format("{} (nvJitLink's code {})", is_known ? reasons[number] : "it failed", result);
}

class Program {
 public:
  explicit Program(const std::vector<std::string>& options) : options_(options) {
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());
    const int result =
        nvjitlink().Create(&handle_, static_cast<std::uint32_t>(pointers.size()), pointers.data());
    if (result != 0) {
      const std::string log = error_log();
      destroy();
      raise("the linker does not take its options", result, log);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { destroy(); }

  void add(const LinkInput& input) {
    const int result = nvjitlink().AddData(handle_, static_cast<int>(input.kind),
                                           input.bytes.data(), size_of(input), input.name.c_str());
    if (result != 0) raise("the linker does not take " + input.name, result, error_log());
  }
  void complete() {
    const int result = nvjitlink().Complete(handle_);
    if (result != 0) raise("the code was not linked", result, error_log());
  }
  LinkedCode result(bool is_ptx) const {
    const NvJitLinkTable& table = nvjitlink();
    return {is_ptx ? read(table.GetLinkedPtxSize, table.GetLinkedPtx)
                   : read(table.GetLinkedCubinSize, table.GetLinkedCubin),
            log(table.GetInfoLogSize, table.GetInfoLog)};
  }

 private:
  void destroy() noexcept {
    if (handle_) nvjitlink().Destroy(&handle_);
  }
  /// PTX with the null character at its end.
  static std::size_t size_of(const LinkInput& input) {
    return input.bytes.size() + (input.kind == LinkInputKind::ptx ? 1 : 0);
  }
  template <class C>
  std::string read(int (*size_of)(LinkHandle, std::size_t*), int (*get)(LinkHandle, C*)) const {
    std::size_t size = 0;
    int result = size_of(handle_, &size);
    std::string code(size, '\0');
    if (result == 0) result = get(handle_, reinterpret_cast<C*>(code.data()));
    if (result != 0) raise("the linked code cannot be had", result, error_log());
    return code;
  }
  /// Without what is at its end: null characters and newlines.
  std::string log(int (*size_of)(LinkHandle, std::size_t*), int (*get)(LinkHandle, char*)) const {
    std::size_t size = 0;
    if (!handle_ || size_of(handle_, &size) != 0 || size == 0) return {};
    std::string text(size + 1, '\0');
    if (get(handle_, text.data()) != 0) return {};
    text.resize(text.find('\0'));
    text.resize(text.find_last_not_of('\n') + 1);  // npos + 1 is 0
    return text;
  }
  std::string error_log() const {
    return log(nvjitlink().GetErrorLogSize, nvjitlink().GetErrorLog);
  }
  [[noreturn]] void raise(const std::string& what, int result, std::string text) const {
    throw CompileError(fmt::format("{}: {}", what, reason(result)), {}, std::move(text),
                       fmt::format("{}", fmt::join(options_, " ")));
  }

  const std::vector<std::string>& options_;
  LinkHandle handle_ = nullptr;
};

}  // namespace

LinkedCode link(const std::vector<LinkInput>& inputs, const std::vector<std::string>& options) {
  const NoForks no_forks;  // as in NVRTC
  Program program(options);
  for (const LinkInput& input : inputs) program.add(input);
  program.complete();
  return program.result(std::ranges::find(options, "-ptx") != options.end());
}

std::pair<int, int> linker_version() {
  unsigned major = 0, minor = 0;
  if (nvjitlink().Version) nvjitlink().Version(&major, &minor);
  return {static_cast<int>(major), static_cast<int>(minor)};
}

}  // namespace quarry::backend
