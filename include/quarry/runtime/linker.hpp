// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/compile.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quarry {

/// What a linker takes.
enum class LinkKind {
  any,  ///< one of the others, told apart by its bytes
  cubin,
  ptx,
  ltoir,   ///< of compile_ltoir() or nvcc -dlto
  fatbin,  ///< of nvcc -fatbin
  object,  ///< an object file of the host with code for GPUs: nvcc -dc
  library  ///< an archive of such files
};

/// How code is linked.
struct LinkOptions {
  std::string arch = {};                        ///< "sm_90"; that of `device` if empty
  std::optional<Device> device = std::nullopt;  ///< the current one if none
  /// Whether functions are optimised across their sources: needs LTO-IR, or source. Set by itself
  /// once LTO-IR is among the inputs.
  bool lto = false;
  bool debug = false;                              ///< with the debugger's tables
  bool lineinfo = false;                           ///< with source lines for profilers
  int max_registers = 0;                           ///< of a thread, at most; 0 for no limit
  std::optional<int> optimization = std::nullopt;  ///< 0 to 3, which is the default
  /// As nvJitLink takes them ("-ftz=true", "-verbose").
  std::vector<std::string> options = {};
};

/// Links code that was compiled apart into one module, by nvJitLink, which the program loads at the
/// first use; no GPU is needed.
///
///     qy::Linker linker;
///     linker.add_ptx(qy::compile_ptx(functions, {.relocatable = true}))
///         .add_cu(R"(extern "C" __device__ float f(float);
///           extern "C" __global__ void apply(float* a) { a[threadIdx.x] = f(a[threadIdx.x]); })");
///     auto mod = qy::module_from_linker(linker);
///
/// Code that is called from other code, or calls such, has to be relocatable: CompileOptions has an
/// option for that. Of two functions of one name nvJitLink takes the first, with a line on stderr.
/// A copy has the same inputs and goes on by itself.
class Linker {
 public:
  /// Throws LogicError on the CPU device if the options have no `arch`, and for one that is none.
  explicit Linker(LinkOptions options = {});

  ///@{
  /// Code from memory; messages have the name. Nothing is checked before the link.
  Linker& add_ptx(std::string code, std::string name = "input.ptx");
  Linker& add_cubin(std::string code, std::string name = "input.cubin");
  Linker& add_fatbin(std::string code, std::string name = "input.fatbin");
  Linker& add_object(std::string code, std::string name = "input.o");
  Linker& add_library(std::string code, std::string name = "input.a");
  Linker& add_ltoir(std::string code, std::string name = "input.ltoir");
  Linker& add_data(LinkKind kind, std::string code, std::string name = "input");
  ///@}
  /// CUDA source, which is compiled at once for the linker's architecture, with `lto` to LTO-IR.
  /// The names in the options are those of the linked module, too. Throws what compile_cubin()
  /// throws.
  Linker& add_cu(const std::string& source, const CompileOptions& options = {});
  /// A file of a kind that its name tells if none is given: .ptx, .cubin, .fatbin, .o, .obj, .a,
  /// .lib, .ltoir, .cu. Throws RuntimeError if it cannot be read, LogicError for another ending.
  Linker& add_file(const std::string& filename, std::optional<LinkKind> kind = std::nullopt);
  /// Numba's name of add_file() without a kind.
  Linker& add_file_guess_ext(const std::string& filename) { return add_file(filename); }

  /// The linked machine code. Throws CompileError with the linker's log and options,
  /// BackendUnavailable without nvJitLink, LogicError without inputs. Can be called again, also
  /// after more inputs, and links anew.
  std::string complete();
  /// PTX of all inputs, which have to be LTO-IR. Throws what complete() throws.
  std::string get_linked_ptx();
  const std::string& info_log() const { return info_; }    ///< of the last link
  const std::string& error_log() const { return error_; }  ///< of the last link, if it failed

  const LinkOptions& options() const { return options_; }  ///< with the architecture
  /// What is called what in the code, for the names of add_cu().
  const std::map<std::string, std::string>& lowered_names() const { return lowered_; }

 private:
  struct Input {
    LinkKind kind;
    std::string code, name;
  };
  std::string linked(bool is_ptx);
  std::vector<std::string> words(bool is_ptx) const;

  LinkOptions options_;
  std::vector<Input> inputs_;
  std::map<std::string, std::string> lowered_;
  std::string info_, error_;
};

/// Of nvJitLink: {13, 0}. Throws BackendUnavailable without it.
std::pair<int, int> nvjitlink_version();

}  // namespace quarry
