// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>
#include <utility>
#include <vector>

/// Linking of compiled code into one piece, without a GPU.
namespace quarry::backend {

/// With the numbers of nvJitLinkInputType.
enum class LinkInputKind { cubin = 1, ptx, ltoir, fatbin, object, library, any = 10 };

struct LinkInput {
  LinkInputKind kind = LinkInputKind::any;
  std::string bytes;
  std::string name;  ///< in messages
};

struct LinkedCode {
  std::string code;  ///< a cubin; PTX where "-ptx" is among the options
  std::string info;  ///< what the linker says if it is asked ("-verbose")
};

/// Throws CompileError with the linker's log and the options, BackendUnavailable without nvJitLink.
LinkedCode link(const std::vector<LinkInput>& inputs, const std::vector<std::string>& options);

/// Of nvJitLink. Throws BackendUnavailable without it.
std::pair<int, int> linker_version();

}  // namespace quarry::backend
