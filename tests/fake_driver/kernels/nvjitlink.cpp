// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/jit/nvjitlink.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "backend/link.hpp"
#include "fake_driver/fake_driver.hpp"
#include "fake_driver/kernels/image.hpp"

namespace quarry::fake {
namespace {

using backend::LinkInputKind;
using backend::cuda::LinkHandle;

/// nvJitLink's codes.
enum Code {
  success = 0,
  unrecognized_option = 1,
  missing_arch = 2,
  invalid_input = 3,
  unrecognized_input = 8,
  incorrect_input_type = 12,
  arch_mismatch = 13,
  lto_not_enabled = 18
};

struct Link {
  Image image;
  bool is_lto = false, is_complete = false;
  std::string log, result;
};

Link& link_of(LinkHandle handle) { return *reinterpret_cast<Link*>(handle); }

int failed(Link& link, Code code, const std::string& text) {
  link.log += "error: " + text + "\n";
  return code;
}

int take_option(Link& link, std::string_view option) {
  constexpr std::string_view arch = "-arch=sm_";
  const auto begins = [&](std::string_view text) { return option.starts_with(text); };
  if (begins(arch)) {
    link.image.architecture = std::atoi(option.substr(arch.size()).data());
  } else if (option == "-lto") {
    link.is_lto = true;
  } else if (option == "-ptx") {
    link.image.is_ptx = true;
  } else if (option != "-g" && option != "-lineinfo" && option != "-verbose" && !begins("-O") &&
             !begins("-maxrregcount=")) {
    return failed(link, unrecognized_option, "unrecognized option " + std::string(option));
  }
  return success;
}

int create(LinkHandle* out, std::uint32_t count, const char* const* options) {
  auto link = std::make_unique<Link>();
  int result = success;
  for (std::uint32_t i = 0; i < count && result == success; ++i) {
    result = take_option(*link, options[i]);
  }
  if (result == success && link->image.architecture == 0) {
    result = failed(*link, missing_arch, "no architecture");
  }
  *out = reinterpret_cast<LinkHandle>(link.release());
  return result;
}

int destroy(LinkHandle* handle) {
  const std::unique_ptr<Link> ended(&link_of(*handle));
  *handle = nullptr;
  return success;
}

/// Of what is there twice the first stays, as nvJitLink has it.
int merge(Link& link, const Image& input) {
  link.image.functions.insert(input.functions.begin(), input.functions.end());
  link.image.variables.insert(input.variables.begin(), input.variables.end());
  return success;
}

int add(LinkHandle handle, int kind, const void* data, std::size_t size, const char* name) {
  Link& link = link_of(handle);
  std::string bytes(static_cast<const char*>(data), size);
  const bool is_ltoir = bytes.starts_with(ltoir_magic);
  if (is_ltoir) bytes.erase(0, ltoir_magic.size());
  const std::optional<Image> image = parse_image(bytes.c_str());
  if (!image) return failed(link, unrecognized_input, std::string(name) + " is no code");
  const auto found = is_ltoir        ? LinkInputKind::ltoir
                     : image->is_ptx ? LinkInputKind::ptx
                                     : LinkInputKind::cubin;
  const auto given = static_cast<LinkInputKind>(kind);
  if (given != LinkInputKind::any && given != found) {
    return failed(link, incorrect_input_type, std::string(name) + " is of another kind");
  }
  if (is_ltoir && !link.is_lto) return failed(link, lto_not_enabled, "LTO-IR without -lto");
  if (found == LinkInputKind::cubin && image->architecture != link.image.architecture) {
    return failed(link, arch_mismatch, std::string(name) + " is for another architecture");
  }
  return merge(link, *image);
}

int complete(LinkHandle handle) {
  Link& link = link_of(handle);
  link.result = write_image(link.image);
  link.is_complete = true;
  return success;
}

int result_size(LinkHandle handle, std::size_t* size) {
  if (!link_of(handle).is_complete) return invalid_input;
  *size = link_of(handle).result.size();
  return success;
}
template <class C>
int result(LinkHandle handle, C* out) {
  if (!link_of(handle).is_complete) return invalid_input;
  std::memcpy(out, link_of(handle).result.data(), link_of(handle).result.size());
  return success;
}

int error_size(LinkHandle handle, std::size_t* size) {
  *size = link_of(handle).log.size() + 1;
  return success;
}
int error_log(LinkHandle handle, char* out) {
  std::strcpy(out, link_of(handle).log.c_str());
  return success;
}
int info_size(LinkHandle, std::size_t* size) {
  *size = 1;
  return success;
}
int info_log(LinkHandle, char* out) {
  *out = '\0';
  return success;
}
int version(unsigned* major, unsigned* minor) {
  *major = 13, *minor = 0;
  return success;
}

}  // namespace

const backend::cuda::NvJitLinkTable& nvjitlink_table() {
  static const backend::cuda::NvJitLinkTable table{
      create,       destroy,    add,       complete,  result_size, result<void>, result_size,
      result<char>, error_size, error_log, info_size, info_log,    version};
  return table;
}

}  // namespace quarry::fake
