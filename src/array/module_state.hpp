// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/module.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.hpp"

namespace quarry::detail {

/// A kernel that has been asked for.
struct FunctionState {
  /// Bytes of dynamic shared memory for which no kernel has to ask.
  static constexpr std::size_t always_allowed = 48 << 10;

  FunctionState(std::string asked_for, backend::Function function,
                std::optional<std::vector<std::size_t>> sizes)
      : name(std::move(asked_for)), native(function), parameters(std::move(sizes)) {}

  std::string name;
  backend::Function native;
  std::optional<std::vector<std::size_t>> parameters;        ///< sizes, where the driver tells
  std::atomic<std::size_t> allowed_shared = always_allowed;  ///< bytes that were asked for
  std::mutex asking;  ///< held while the driver is asked for more, and told the program's wish
};

struct ModuleState {
  /// Unloads the module.
  struct Loaded {
    backend::Device* device;
    backend::Module native;
    Loaded(backend::Device& on, backend::Module module) : device(&on), native(module) {}
    ~Loaded() { device->unload_module(native); }
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
  };

  ModuleState(std::shared_ptr<Loaded> made, std::map<std::string, std::string> names,
              const backend::LoadLog& log);

  backend::Device& device() const { return *loaded->device; }
  /// The name in the code.
  const std::string& name_of(const std::string& name) const;

  std::shared_ptr<Loaded> loaded;
  /// Stands for the code: what the streams that run it are for memory, they are for the module.
  std::shared_ptr<Buffer> code;
  std::map<std::string, std::string> lowered;  ///< names in the code by name expressions
  JitReport report;
  std::string kept;  ///< a folder, or empty
  std::mutex mutex;  ///< of what follows
  std::map<std::string, FunctionState> functions;
};

}  // namespace quarry::detail
