// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <string>

#include <quarry/runtime/compile.hpp>

#include "backend/source_kernel.hpp"

namespace quarry::runtime {

/// The folder in which a compilation leaves what it reads and writes, for people to look at.
class KeptCompilation {
 public:
  /// Makes the folder if the options want one, and writes the source. Throws RuntimeError if it
  /// cannot.
  KeptCompilation(const backend::SourceText& source, const CompileOptions& options);

  /// "source.ptx", "source.log", ...
  void add(const std::string& ending, const std::string& bytes) const;
  const std::string& folder() const { return folder_; }  ///< empty if there is none

 private:
  std::string folder_, stem_;
};

}  // namespace quarry::runtime
