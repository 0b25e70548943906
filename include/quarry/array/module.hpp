// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/function.hpp>
#include <quarry/base/callable.hpp>
#include <quarry/runtime/compile.hpp>
#include <quarry/runtime/linker.hpp>

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// Kernels of the program itself: CUDA source, PTX or machine code, on the current GPU.
///
///     auto mod = qy::compile(R"(extern "C" __global__ void twice(float* a) {
///       a[threadIdx.x] *= 2;
///     })");
///     mod.function("twice").launch({.grid = 1, .block = 16}, d);
///
namespace quarry {

/// The value of a JitOption: a number, or a choice.
class JitValue {
 public:
  ///@{
  /// Implicit.
  constexpr JitValue(std::integral auto number) : number_(static_cast<unsigned>(number)) {}
  constexpr JitValue(JitFallback choice) : number_(static_cast<unsigned>(choice)) {}
  ///@}
  constexpr unsigned number() const { return number_; }  ///< as the driver takes it

 private:
  unsigned number_;
};

/// What the driver said when it loaded a module.
struct JitReport {
  std::string info = {};  ///< its log
  /// Milliseconds that its compiler took, if JitOption::wall_time was among the options.
  std::optional<float> wall_time = std::nullopt;
  /// The threads of a block that the code was compiled for, if JitOption::threads_per_block was.
  std::optional<unsigned> threads_per_block = std::nullopt;
};

/// How the driver loads a module.
struct ModuleOptions {
  /// For the driver's compiler, when the image is PTX; most of them do nothing for machine code.
  std::vector<std::pair<JitOption, JitValue>> options = {};
  /// Called after loading, whether it succeeded or not, with what the driver has written.
  detail::Callable<void(bool succeeded, const std::string& info, const std::string& error)>
      message_handler = {};
};

/// Loaded code with its kernels and variables. A handle: copies are of the same module, which is
/// unloaded after the last handle, function and variable, when the kernels queued are done. The
/// device cannot be reset before.
class Module {
 public:
  Device device() const;  ///< on which it is loaded

  /// The kernel of this name: that of an extern "C" function, of CompileOptions::names, or the
  /// mangled one. Throws LogicError if there is none.
  Function function(const std::string& name) const;
  /// PyCUDA's name of function().
  Function get_function(const std::string& name) const { return function(name); }

  /// A __device__ or __constant__ variable as an array of T with one axis, to be read and written
  /// like any other: mod.global<float>("weights").copy_to_device(host). Throws LogicError if there
  /// is none of this name, and if its size is no multiple of T's.
  template <class T>
  DeviceNDArray<T> global(const std::string& name) const {
    const Variable found = variable(name, sizeof(T));
    const auto count = static_cast<std::int64_t>(found.buffer->bytes() / sizeof(T));
    return {Layout{Shape{count}, Strides{static_cast<std::int64_t>(sizeof(T))}},
            found.buffer->data(), found.buffer};
  }
  /// PyCUDA's form: the address, while the module is loaded, and the size in bytes.
  std::pair<DevicePtr, std::size_t> get_global(const std::string& name) const;

  const JitReport& jit_report() const;  ///< of loading it
  /// The folder that has source, code and log, if CompileOptions::keep asked for that, else empty.
  const std::string& kept() const;

  /// For the library itself.
  explicit Module(std::shared_ptr<detail::ModuleState> state) : state_(std::move(state)) {}

 private:
  struct Variable {
    std::shared_ptr<Buffer> buffer;
  };
  Variable variable(const std::string& name, std::size_t itemsize) const;

  std::shared_ptr<detail::ModuleState> state_;
};

/// Compiles CUDA source by NVRTC and loads it on the options' device, or the current one. Functions
/// are found by their names if they are extern "C" or among CompileOptions::names. Throws
/// CompileError with source, log and options, LogicError on the CPU device.
Module compile(const std::string& source, const CompileOptions& options = {});
/// PyCUDA's form of compile(): all of the source is in extern "C" { ... }, unless `no_extern_c`.
class SourceModule : public Module {
 public:
  /// Throws what compile() throws.
  explicit SourceModule(const std::string& source, const CompileOptions& options = {},
                        bool no_extern_c = false);
};

///@{
/// A cubin, a fatbin or PTX, from memory or from a file, on the current device. Throw CompileError
/// with the driver's log for an image that it refuses, RuntimeError for a file that cannot be read.
Module module_from_buffer(const std::string& image, const ModuleOptions& options = {});
Module module_from_file(const std::string& filename, const ModuleOptions& options = {});
///@}
/// Links the inputs and loads the result on the current device. The module has the names of
/// Linker::add_cu(). Throws what Linker::complete() throws, and what module_from_buffer() throws.
Module module_from_linker(Linker linker, const ModuleOptions& options = {});

}  // namespace quarry
