// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <atomic>
#include <string>
#include <string_view>

/// Source that is known at run time only, as a part of a kernel that Quarry compiles.
namespace quarry::kernels {

/// The source of a function or of a reducer. NVRTC gets it as
///   namespace ... { PREAMBLE struct quarry_text : functions { MEMBERS }; }
/// and NAME as the name of a struct that derives from it.
/// Equal sources are one text, which lives until the process ends.
struct source_text {
  source_text(std::string_view name, std::string_view preamble, std::string_view members)
      : name(name), preamble(preamble), members(members) {}
  const std::string name, preamble, members;

  /// What a driver that runs kernels on the host calls instead: a function, of a reducer a
  /// host_reducer. The library has none.
  mutable std::atomic<const void*> host = nullptr;
  /// The same; throws LogicError if there is none.
  const void* on_host() const;
};

/// The text with these parts. Throws LogicError for a name that is no identifier.
const source_text& text_of(std::string_view name, std::string_view preamble,
                           std::string_view members);

bool is_identifier(std::string_view name);
/// Throws LogicError for a name that is none.
void require_kernel_name(std::string_view name);

/// The source behind a line that gives its lines the file name `what` + `name` in the compiler's
/// messages; nothing for no source.
std::string with_lines(std::string_view what, std::string_view name, std::string_view source);

}  // namespace quarry::kernels
