// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/array/module.hpp>

#include <fmt/format.h>

#include "array/module_state.hpp"
#include "base/whole_file.hpp"
#include "runtime/callback.hpp"
#include "runtime/compile.hpp"

namespace quarry {
namespace detail {

ModuleState::ModuleState(std::shared_ptr<Loaded> made, std::map<std::string, std::string> names,
                         const backend::LoadLog& log)
    : loaded(std::move(made)),
      code(std::make_shared<Buffer>(loaded.get(), sizeof(Loaded),
                                    default_stream(Device(*loaded->device)), loaded,
                                    MemorySpace::host)),
      lowered(std::move(names)),
      report{log.info, log.wall_ms, log.threads_per_block} {}

const std::string& ModuleState::name_of(const std::string& name) const {
  const auto found = lowered.find(name);
  return found == lowered.end() ? name : found->second;
}

}  // namespace detail

namespace {

using detail::ModuleState;

std::shared_ptr<ModuleState> loaded(const Device& device, const backend::ModuleImage& image,
                                    std::map<std::string, std::string> lowered,
                                    backend::LoadLog& log) {
  backend::Device& on = device.backend();
  const backend::Module native = on.load_module(image, log);
  std::shared_ptr<ModuleState::Loaded> made;
  try {
    made = {new ModuleState::Loaded(on, native), detail::DeleteOutsideCallbacks()};
  } catch (const std::bad_alloc&) {
    on.unload_module(native);
    throw;
  }
  return std::make_shared<ModuleState>(std::move(made), std::move(lowered), log);
}

}  // namespace

Device Module::device() const { return Device(state_->device()); }

Function Module::function(const std::string& name) const {
  const std::lock_guard lock(state_->mutex);
  const auto known = state_->functions.find(name);
  if (known != state_->functions.end()) return Function(state_, known->second);
  const backend::Function native =
      state_->device().find_function(state_->loaded->native, state_->name_of(name));
  require<LogicError>(native != nullptr, [&] {
    return fmt::format(
        "the module has no kernel \"{}\": it is found if it is extern \"C\" or among "
        "CompileOptions::names",
        name);
  });
  auto sizes = state_->device().parameter_sizes(native);
  return Function(
      state_, state_->functions.try_emplace(name, name, native, std::move(sizes)).first->second);
}

Module::Variable Module::variable(const std::string& name, std::size_t itemsize) const {
  const backend::GlobalVariable found =
      state_->device().find_global(state_->loaded->native, state_->name_of(name));
  require<LogicError>(found.address != nullptr, [&] {
    return fmt::format(
        "the module has no variable \"{}\": it is found if it is extern \"C\" or among "
        "CompileOptions::names, and in use",
        name);
  });
  require<LogicError>(found.bytes % itemsize == 0, [&] {
    return fmt::format("the variable {} has {} bytes, which are no elements of {}", name,
                       found.bytes, itemsize);
  });
  return {std::make_shared<Buffer>(found.address, found.bytes, default_stream(device()),
                                   state_->code, MemorySpace::device)};
}

std::pair<DevicePtr, std::size_t> Module::get_global(const std::string& name) const {
  const Variable found = variable(name, 1);
  return {DevicePtr(found.buffer->data()), found.buffer->bytes()};
}

const JitReport& Module::jit_report() const { return state_->report; }
const std::string& Module::kept() const { return state_->kept; }

Module compile(const std::string& source, const CompileOptions& options) {
  const Device device = options.device.value_or(Device());
  require<LogicError>(!device.is_cpu(),
                      "kernels from CUDA source run on GPUs only, and this is the CPU device");
  backend::LoadLog log;
  const auto load = [&](runtime::Compiled compiled) {
    auto state =
        loaded(device, {std::move(compiled.code.code)}, std::move(compiled.code.lowered), log);
    state->kept = std::move(compiled.kept);
    return Module(std::move(state));
  };
  runtime::Compiled compiled = runtime::compile(source, options);
  try {
    return load(std::move(compiled));
  } catch (const CompileError&) {  // by the driver: a file of the cache may be anything
    if (!options.cache) throw;
  }
  return load(runtime::compile_anew(source, options));
}

SourceModule::SourceModule(const std::string& source, const CompileOptions& options,
                           bool no_extern_c)
    : Module(compile(no_extern_c ? source : "extern \"C\" {\n#line 1\n" + source + "\n}\n",
                     options)) {}

namespace {

Module loaded_module(const std::string& image, const ModuleOptions& options,
                     std::map<std::string, std::string> lowered) {
  backend::LoadLog log;
  const auto tell = [&](bool succeeded) {
    if (options.message_handler) options.message_handler(succeeded, log.info, log.error);
  };
  backend::ModuleImage given{image};
  for (const auto& [option, value] : options.options) {
    given.options.emplace_back(option, value.number());
  }
  std::shared_ptr<ModuleState> state;
  try {
    state = loaded(Device(), given, std::move(lowered), log);
  } catch (const CompileError&) {
    tell(false);
    throw;
  }
  tell(true);
  return Module(std::move(state));
}

}  // namespace

Module module_from_buffer(const std::string& image, const ModuleOptions& options) {
  return loaded_module(image, options, {});
}

Module module_from_file(const std::string& filename, const ModuleOptions& options) {
  return module_from_buffer(whole_file("the module", filename), options);
}

Module module_from_linker(Linker linker, const ModuleOptions& options) {
  return loaded_module(linker.complete(), options, linker.lowered_names());
}

}  // namespace quarry
