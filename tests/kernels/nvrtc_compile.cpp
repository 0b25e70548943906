// SPDX-License-Identifier: BSD-3-Clause
// Compiles every operation with NVRTC for all types that its domain admits, every function for
// textures, and the kernels of the documents, for each architecture named, and reports the time of
// a small fused expression. Needs no GPU.
//     nvrtc_compile <include directory> sm_80 sm_90 ...
#include <nvrtc.h>
#include <quarry/expr/domain.hpp>
#include <quarry/expr/text_node.hpp>
#include <quarry/kernels/functor.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using quarry::TypeId;
namespace domains = quarry::domains;

const char* const header_names[] = {
    "base/standard.hpp",         "kernels/types.hpp", "kernels/division.hpp",
    "kernels/gpu_functions.hpp", "kernels/math.hpp",  "kernels/complex.hpp",
    "kernels/complex_wide.hpp",  "kernels/ops.def",   "kernels/functor.hpp",
    "kernels/device_view.hpp",   "textures.cuh"};

struct Headers {
  std::vector<std::string> names, texts;
};

Headers read_headers(const std::string& include_directory) {
  Headers headers;
  for (const char* name : header_names) {
    const std::string path = std::string("quarry/") + name;
    std::ifstream file(include_directory + "/" + path);
    if (!file) throw std::runtime_error("cannot read " + include_directory + "/" + path);
    headers.names.push_back(path);
    headers.texts.emplace_back(std::istreambuf_iterator<char>(file),
                               std::istreambuf_iterator<char>());
  }
  // as the library has it for NVRTC
  headers.names.emplace_back("quarry/device_view.cuh");
  headers.texts.emplace_back("#include <quarry/kernels/device_view.hpp>\n");
  return headers;
}

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> result;
  for (const std::string& string : strings) result.push_back(string.c_str());
  return result;
}

void check(nvrtcResult status, const char* what) {
  if (status != NVRTC_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + nvrtcGetErrorString(status));
  }
}

/// Milliseconds to compile `source` to a cubin. Throws with the compiler's log if that fails.
double compile(const Headers& headers, const std::string& source, const std::string& arch,
               bool relocatable = false) {
  const auto start = std::chrono::steady_clock::now();
  nvrtcProgram program;
  const auto texts = pointers(headers.texts), names = pointers(headers.names);
  check(nvrtcCreateProgram(&program, source.c_str(), "test.cu", int(names.size()), texts.data(),
                           names.data()),
        "nvrtcCreateProgram");
  const std::string arch_option = "-arch=" + arch;
  const char* options[] = {arch_option.c_str(), "-std=c++20", "-fmad=false",
                           relocatable ? "-rdc=true" : "-rdc=false"};
  if (nvrtcCompileProgram(program, int(std::size(options)), options) != NVRTC_SUCCESS) {
    std::size_t size = 0;
    check(nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
    std::string log(size, '\0');
    check(nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
    throw std::runtime_error(arch + ":\n" + log.substr(0, 4000));
  }
  std::size_t code = 0;
  check(
      arch.starts_with("sm_") ? nvrtcGetCUBINSize(program, &code) : nvrtcGetPTXSize(program, &code),
      "nvrtcGet...Size");
  if (code == 0) throw std::runtime_error(arch + ": no code");
  check(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

const char* const prologue =
    "#include <quarry/kernels/functor.hpp>\n"
    "using namespace quarry::kernels;\n";

std::string kernel_name(TypeId id) { return std::string(quarry::expr::kernel_type_name(id)); }

/// A kernel that applies an operation to operands of one type; empty where the operation has no
/// loop.
std::string kernel(const std::string& operation, int arity, TypeId operand, TypeId loop) {
  if (loop == domains::no_loop) return "";
  const std::string type = kernel_name(operand);
  std::string arguments = "p[0]";
  for (int i = 1; i < arity; ++i) arguments += ", p[" + std::to_string(i) + "]";
  const std::string call = operation + "_op::apply<" + kernel_name(loop) + ">(" + arguments + ")";
  static int serial = 0;
  return "__global__ void k" + std::to_string(serial++) + "(const " + type + "* p, decltype(" +
         call + ")* out) { *out = " + call + "; }\n";
}

/// One source per operation, with a kernel for each type.
std::vector<std::string> all_operations() {
  std::vector<std::string> sources;
  const auto add = [&](const char* name, int arity, auto resolve) {
    std::string source = prologue;
    for (std::size_t i = 0; i < quarry::type_count; ++i) {
      source += kernel(name, arity, TypeId(i), resolve(TypeId(i)));
    }
    sources.push_back(source);
  };
#define QUARRY_UNARY(name, domain, ...) \
  add(#name, 1, [](TypeId a) { return domains::domain::resolve(a); });
#define QUARRY_BINARY(name, domain, ...) \
  add(#name, 2, [](TypeId a) { return domains::domain::resolve(a, a); });
#define QUARRY_TERNARY(name, domain, ...) \
  add(#name, 3, [](TypeId a) { return domains::domain::resolve(a, a, a); });
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY
  return sources;
}

/// Every pair of types through the conversions, once.
std::string all_conversions() {
  std::string source = prologue;
  for (std::size_t i = 0; i < quarry::type_count; ++i) {
    const std::string from = kernel_name(TypeId(i));
    source += "__global__ void k" + std::to_string(source.size()) + "(const " + from +
              "* p, char* out) {\n";
    for (std::size_t j = 0; j < quarry::type_count; ++j) {
      const std::string to = kernel_name(TypeId(j));
      source += "  *(" + to + "*)(out += 16) = convert<" + to + ">(*p);\n";
    }
    source += "}\n";
  }
  return source;
}

/// The sources in a document: raw strings with a kernel.
std::vector<std::string> sources_of(const std::string& document) {
  std::ifstream file(document);
  if (!file) throw std::runtime_error("cannot read " + document);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  std::vector<std::string> sources;
  for (auto begin = text.find("R\"("); begin != text.npos; begin = text.find("R\"(", begin)) {
    begin += 3;
    const std::string source = text.substr(begin, text.find(")\"", begin) - begin);
    if (source.find("__global__") != source.npos) sources.push_back(source);
  }
  if (sources.empty()) throw std::runtime_error(document + " has no kernels");
  return sources;
}

const char* const fused_expression =
    "__global__ void fused(const float* a, const float* b, float* out) {\n"
    "  const long i = blockIdx.x * 256l + threadIdx.x;\n"
    "  out[i] = add_op::apply<float>(sin_op::apply<float>(a[i]), multiply_op::apply<float>(b[i], "
    "a[i]));\n"
    "}\n";

std::string texture_calls(const std::string& include_directory) {
  const auto path =
      std::filesystem::path(include_directory).parent_path() / "tests/kernels/texture_calls.cuh";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void run(const std::string& include_directory, const std::string& arch) {
  const Headers headers = read_headers(include_directory);
  double total = 0, first = compile(headers, std::string(prologue) + fused_expression, arch);
  for (const std::string& source : all_operations()) total += compile(headers, source, arch);
  total += compile(headers, all_conversions(), arch);
  total += compile(headers, texture_calls(include_directory), arch);
  for (const std::string& source : sources_of(include_directory + "/../docs/kernels.md")) {
    total += compile(headers, source, arch, true);
    const std::string number = arch.substr(arch.find('_') + 1);
    total += compile(headers, source, "compute_" + number, true);
  }
  double best = first;
  for (int i = 0; i < 5; ++i)
    best = std::min(best, compile(headers, std::string(prologue) + fused_expression, arch));
  std::printf("%s: first %.1f ms, fused expression %.1f ms, everything %.0f ms\n", arch.c_str(),
              first, best, total);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3)
    throw std::runtime_error("usage: nvrtc_compile <include directory> <architecture>...");
  for (int i = 2; i < argc; ++i) run(argv[1], argv[i]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
