// SPDX-License-Identifier: BSD-3-Clause
// Part of the build: has NVRTC translate every operation of ops.def, for each type that its loop
// can have, and every conversion to PTX, and writes them as the table of
// src/backend/cuda/ptx/operations.hpp. Needs no GPU.
//     operation_ptx <output.cpp> <include folder>...
#include <nvrtc.h>
#include <quarry/expr/domain.hpp>

#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace {

using quarry::TypeId;
namespace domains = quarry::domains;

// --- the source

/// The types of which PTX is made: the real ones, in the order of TypeId.
constexpr std::array<const char*, 13> type_names{"bool",     "i8",    "i16",   "i32", "i64",
                                                 "u8",       "u16",   "u32",   "u64", "float16",
                                                 "bfloat16", "float", "double"};
constexpr auto dtype_names = [] {
  std::array<std::string_view, type_names.size()> names;
  for (std::size_t id = 0; id < names.size(); ++id) names[id] = quarry::DType(TypeId(id)).name();
  return names;
}();
constexpr bool is_real(TypeId id) { return static_cast<std::size_t>(id) < type_names.size(); }
std::string name_of(TypeId id) { return type_names[static_cast<std::size_t>(id)]; }
std::string dtype_of(TypeId id) { return std::string(dtype_names[static_cast<std::size_t>(id)]); }

/// Halves are passed as their bits: of a struct there is no register.
bool is_half(TypeId id) { return id == TypeId::float16 || id == TypeId::bfloat16; }
std::string passed_as(TypeId id) { return is_half(id) ? "u16" : name_of(id); }
std::string value_of(TypeId id, const std::string& parameter) {
  return is_half(id) ? "bits_as<" + name_of(id) + ">(" + parameter + ")" : parameter;
}

/// Long functions are in line, too, but for what rare arguments take: calls cost more in code that
/// the driver's linker makes.
constexpr const char* prologue = R"(#define QUARRY_REAL_NUMBERS_ONLY
#define QUARRY_LONG __device__ __forceinline__
#define QUARRY_RARE __device__ __noinline__
#include <quarry/kernels/functor.hpp>
using namespace quarry::kernels;
)";

/// A function of the source and its row in the table.
struct Function {
  std::string row;  ///< "add_op float32"
  std::vector<TypeId> operands;
  TypeId result;
  bool compares = false;
  std::string expression;  ///< of the values x0, x1, ...
};

std::string source_of(const Function& function, std::size_t number) {
  std::ostringstream text;
  text << "extern \"C\" __device__ " << passed_as(function.result) << " q" << number << "(";
  for (std::size_t k = 0; k < function.operands.size(); ++k) {
    text << (k > 0 ? ", " : "") << passed_as(function.operands[k]) << " p" << k;
  }
  text << ") {\n";
  for (std::size_t k = 0; k < function.operands.size(); ++k) {
    const std::string parameter = "p" + std::to_string(k);
    text << "  const auto x" << k << " = " << value_of(function.operands[k], parameter) << ";\n";
  }
  const std::string result = name_of(function.result);
  text << "  static_assert(is_same<decltype(" << function.expression << "), " << result << ">);\n"
       << "  const " << result << " result = " << function.expression << ";\n"
       << "  return " << (is_half(function.result) ? "result.bits" : "result") << ";\n}\n";
  return text.str();
}

/// The loop's type for operands of one type.
template <class Domain, int Arity>
constexpr TypeId loop_of(TypeId operand) {
  if constexpr (Arity == 1) return Domain::resolve(operand);
  if constexpr (Arity == 2) return Domain::resolve(operand, operand);
  if constexpr (Arity == 3) return Domain::resolve(operand, operand, operand);
}
/// Of every real type.
template <class Domain, int Arity>
constexpr auto loops_of = [] {
  std::array<TypeId, type_names.size()> loops{};
  for (std::size_t id = 0; id < loops.size(); ++id) loops[id] = loop_of<Domain, Arity>(TypeId(id));
  return loops;
}();

/// source_of() asserts what this says of the result.
template <class Domain>
bool gives_truth(std::string_view name) {
  return std::is_same_v<Domain, domains::compare> || std::is_same_v<Domain, domains::logical> ||
         std::is_same_v<Domain, domains::predicate> || name == "signbit";
}

template <class Domain, int Arity>
void add_operation(std::vector<Function>& functions, const std::string& name) {
  std::set<TypeId> done;
  for (const TypeId loop : loops_of<Domain, Arity>) {
    if (!is_real(loop) || !done.insert(loop).second) continue;
    std::vector<TypeId> operands(Arity, loop);
    if (std::is_same_v<Domain, domains::select>) operands[0] = TypeId::bool_;
    std::string expression = name + "_op::compute(x0";
    for (int k = 1; k < Arity; ++k) expression += ", x" + std::to_string(k);
    functions.push_back({name + "_op " + dtype_of(loop), std::move(operands),
                         gives_truth<Domain>(name) ? TypeId::bool_ : loop,
                         std::is_same_v<Domain, domains::compare>, expression + ")"});
  }
}

std::vector<Function> all_functions() {
  std::vector<Function> functions;
#define QUARRY_UNARY(name, domain, ...) add_operation<domains::domain, 1>(functions, #name);
#define QUARRY_BINARY(name, domain, ...) add_operation<domains::domain, 2>(functions, #name);
#define QUARRY_TERNARY(name, domain, ...) add_operation<domains::domain, 3>(functions, #name);
#include <quarry/kernels/ops.def>
#undef QUARRY_UNARY
#undef QUARRY_BINARY
#undef QUARRY_TERNARY
  for (std::size_t from = 0; from < type_names.size(); ++from) {
    for (std::size_t to = 0; to < type_names.size(); ++to) {
      if (from == to) continue;
      functions.push_back({"convert " + dtype_of(TypeId(from)) + " " + dtype_of(TypeId(to)),
                           {TypeId(from)},
                           TypeId(to),
                           false,
                           "convert<" + name_of(TypeId(to)) + ">(x0)"});
    }
  }
  return functions;
}

// --- its translation

void check(nvrtcResult result, const char* what) {
  if (result != NVRTC_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + nvrtcGetErrorString(result));
  }
}

/// For the oldest GPUs that kernels of PTX are made for; it is valid on all newer ones.
std::string translated(const std::string& source, const std::vector<std::string>& folders) {
  std::vector<std::string> options{"-std=c++20", "-fmad=false", "--gpu-architecture=compute_80",
                                   "--relocatable-device-code=true", "--disable-warnings"};
  for (const std::string& folder : folders) options.push_back("--include-path=" + folder);
  std::vector<const char*> given(options.size());
  for (std::size_t k = 0; k < given.size(); ++k) given[k] = options[k].c_str();
  nvrtcProgram program = nullptr;
  check(nvrtcCreateProgram(&program, source.c_str(), "operations.cu", 0, nullptr, nullptr),
        "nvrtcCreateProgram");
  const nvrtcResult result =
      nvrtcCompileProgram(program, static_cast<int>(given.size()), given.data());
  std::size_t size = 0;
  if (result != NVRTC_SUCCESS) {
    check(nvrtcGetProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
    std::string log(size, '\0');
    check(nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
    throw std::runtime_error(log);
  }
  check(nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize");
  std::string ptx(size, '\0');
  check(nvrtcGetPTX(program, ptx.data()), "nvrtcGetPTX");
  check(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
  return ptx;
}

/// What PTX defines: functions and variables, by their names.
std::map<std::string, std::string> definitions_in(const std::string& ptx) {
  static const std::regex begin(R"(^\.(?:visible \.|weak \.)?(func|global)\b.*)");
  static const std::regex variable_name(R"((\w+)(?:\[\d+\])? =)"), function_name(R"((\w+)\($)");
  std::map<std::string, std::string> definitions;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match, name;
    if (!std::regex_match(line, match, begin)) continue;
    const bool is_function = match[1] == "func";
    std::string text = line.substr(static_cast<std::size_t>(match.position(1)) - 1) + '\n';
    std::string head = line;
    if (is_function) {
      if (!head.ends_with("(")) head += "(";  // the parameters begin in the next line
      while (std::getline(lines, line) && line != "}" && line != ";") text += line + '\n';
      if (line == ";") continue;  // declared alone
      text += line + '\n';
    }
    if (!std::regex_search(head, name, is_function ? function_name : variable_name)) {
      throw std::runtime_error("PTX without a name: " + head);
    }
    definitions[name[1]] = text;
  }
  return definitions;
}

/// A type of instructions: "s16" is signed and has 16 bits.
struct Register {
  char kind;
  int bits;
  explicit Register(const std::string& type) : kind(type[0]), bits(std::stoi(type.substr(1))) {}
};
/// Bits of the register that holds a value.
int kept_bits(TypeId id) {
  return id == TypeId::int64 || id == TypeId::uint64 || id == TypeId::float64 ? 64 : 32;
}
int bits_of_register(const std::string& name) {
  if (name.starts_with("%rs")) return 16;
  return name.starts_with("%rd") || name.starts_with("%fd") ? 64 : 32;
}

/// What ld.param does, of a value in register $k.
std::string loaded(const Register& type, const std::string& to, const std::string& k,
                   TypeId operand) {
  const int had = kept_bits(operand), wanted = bits_of_register(to);
  if (type.bits == had && wanted == had) {
    return "mov.b" + std::to_string(had) + " " + to + ", $" + k + ";";
  }
  const std::string sign = type.kind == 's' ? "s" : "u";
  return "cvt." + sign + std::to_string(wanted) + "." + sign + std::to_string(type.bits) + " " +
         to + ", $" + k + ";";
}
/// Without the extension to 32 bits that the result of a function has, of which nobody asks.
std::string without_extension(const std::string& text, TypeId result) {
  static const std::regex extension(
      R"((?:cvt\.s32\.s(?:8|16) +(%r\d+), (%r\d+);|and\.b32 +(%r\d+), (%r\d+), (?:255|65535);)\n)"
      R"(mov\.b32 \$r, (%r\d+);\n$)");
  std::smatch match;
  if (result == TypeId::bool_ || kept_bits(result) == 64 ||
      !std::regex_search(text, match, extension)) {
    return text;
  }
  const bool converts = match[1].matched;
  if (match[5] != match[converts ? 1 : 3]) return text;
  return match.prefix().str() + "mov.b32 $r, " + match[converts ? 2 : 4].str() + ";\n";
}

/// The body of a function for code that has its operands in registers: $0, $1, $2, and $r for the
/// result.
std::string inlined(const std::string& definition, const Function& function) {
  static const std::regex load(R"(^ld\.param\.(\w+) +(%\w+), \[\w+_param_(\d)\];$)");
  static const std::regex store(R"(^st\.param\.(\w+) +\[func_retval0\+?0?\], (%\w+);$)");
  static const std::regex parameter(R"(_param_\d|func_retval)");
  std::string text;
  std::istringstream lines(definition.substr(definition.find("\n{\n") + 3));
  constexpr const char* leave = "bra $Lend;\n";
  bool leaves = false;
  for (std::string line; std::getline(lines, line) && line != "}";) {
    for (char& c : line) c = c == '\t' ? ' ' : c;
    line.erase(0, line.find_first_not_of(' '));
    if (line.empty() || line.starts_with("//")) continue;
    if (line == "ret;") {
      text += leave;
      leaves = true;
      continue;
    }
    std::smatch match;
    if (std::regex_match(line, match, load)) {
      line = loaded(Register(match[1]), match[2], match[3],
                    function.operands.at(std::stoul(match[3])));
    } else if (std::regex_match(line, match, store)) {
      line = "mov.b" + std::to_string(Register(match[1]).bits) + " $r, " + match[2].str() + ";";
    }
    if (std::regex_search(line, parameter)) {
      throw std::runtime_error("unknown use of a parameter: " + line);
    }
    text += line + '\n';
  }
  if (!leaves) throw std::runtime_error("a function that does not return: " + definition);
  if (text.ends_with(leave)) text.erase(text.size() - std::string(leave).size());
  if (text.find(leave) != text.npos) return text + "$Lend:\n";
  return without_extension(text, function.result);
}

// --- the table

/// The definitions that a text uses, but for its own.
std::set<std::string> names_in(const std::string& text, const std::string& own,
                               const std::map<std::string, std::string>& definitions) {
  static const std::regex word(R"([A-Za-z_]\w*)");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
    const std::string name = at->str();
    if (name != own && definitions.contains(name)) names.insert(name);
  }
  return names;
}

std::string row(const std::string& name, const Function& function,
                const std::set<std::string>& used, const std::string& text) {
  std::ostringstream row;
  row << "{\"" << name << "\", " << static_cast<int>(function.result) << ", {";
  for (std::size_t k = 0; k < 3; ++k) {
    row << (k > 0 ? ", " : "")
        << static_cast<int>(k < function.operands.size() ? function.operands[k] : TypeId{});
  }
  row << "}, " << function.operands.size() << ", " << function.compares << ", \"";
  for (const std::string& name : used) row << (name == *used.begin() ? "" : " ") << name;
  row << "\", R\"ptx(" << text << ")ptx\"},\n";
  return row.str();
}

std::string table(const std::vector<Function>& functions, const std::string& ptx) {
  const auto definitions = definitions_in(ptx);
  std::map<std::string, std::string> rows;  // by name, in the table's order
  std::vector<std::string> wanted;          // by rows of the table
  const auto add = [&](const std::string& name, const Function& function, const std::string& text) {
    const std::set<std::string> used = names_in(text, name, definitions);
    rows[name] = row(name, function, used, text);
    wanted.insert(wanted.end(), used.begin(), used.end());
  };
  for (std::size_t k = 0; k < functions.size(); ++k) {
    add(functions[k].row, functions[k],
        inlined(definitions.at("q" + std::to_string(k)), functions[k]));
  }
  while (!wanted.empty()) {
    const std::string name = wanted.back();
    wanted.pop_back();
    if (!rows.contains(name)) add(name, {}, definitions.at(name));
  }
  std::string all;
  for (const auto& [name, text] : rows) all += text;
  return all;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) throw std::runtime_error("operation_ptx <output.cpp> <include folder>...");
  const std::vector<Function> functions = all_functions();
  std::string source = prologue;
  for (std::size_t k = 0; k < functions.size(); ++k) source += source_of(functions[k], k);
  const std::string ptx = translated(source, {arguments + 2, arguments + count});
  std::ofstream output(arguments[1]);
  output
      << "// Generated by tools/operation_ptx.cpp.\n#include \"backend/cuda/ptx/operations.hpp\"\n"
         "namespace quarry::backend::cuda {\nnamespace {\n"
         "constexpr OperationPtx table[] = {\n"
      << table(functions, ptx)
      << "};\n}  // namespace\n"
         "std::span<const OperationPtx> operation_table() { return table; }\n"
         "}  // namespace quarry::backend::cuda\n";
  if (!output.flush()) throw std::runtime_error(std::string("cannot write ") + arguments[1]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "operation_ptx: %s\n", e.what());
  return 1;
}
