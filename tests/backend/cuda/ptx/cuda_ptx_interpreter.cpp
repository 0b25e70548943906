// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/ptx/cuda_ptx_interpreter.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include <quarry/kernels/types.hpp>

namespace quarry::test {
namespace {

using Bits = std::uint64_t;
using Words = std::vector<std::string>;

/// What stands before a semicolon, a label, or a brace.
struct Statement {
  std::string text;
  std::string guard = {};  ///< of @%p1 or @!%p1
  Words opcode = {};       ///< ld.global.u32 is three
  Words operands = {};     ///< those of vectors one by one
};

Words split(const std::string& text, const char* separators) {
  Words words;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = text.find_first_not_of(separators, at);
    if (begin == text.npos) break;
    const auto end = std::min(text.find_first_of(separators, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

Statement parse(const std::string& line) {
  Statement s{line};
  std::string text = line.substr(0, line.find(';'));
  if (text.starts_with("@")) {
    const auto space = text.find(' ');
    s.guard = text.substr(1, space - 1);
    text = text.substr(text.find_first_not_of(' ', space));
  }
  const auto space = std::min(text.find(' '), text.size());
  s.opcode = split(text.substr(0, space), ".");
  s.operands = split(text.substr(space), " ,{}");
  return s;
}

std::vector<Statement> body_of(const std::string& module) {
  std::vector<Statement> statements;
  std::istringstream lines(module.substr(module.find("\n{\n", module.find(".entry")) + 3));
  std::string line;
  for (int depth = 1; depth > 0 && std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    depth += line == "{" ? 1 : line == "}" ? -1 : 0;
    statements.push_back(line == "{" || line == "}" || line.ends_with(":") ? Statement{line}
                                                                           : parse(line));
  }
  return statements;
}

struct Type {
  char kind;  ///< s, u, b, f, or p for predicates
  int bits;
};
std::optional<Type> type_of(const std::string& suffix) {
  if (suffix == "pred") return Type{'p', 1};
  if (suffix.size() < 2 || std::string("subf").find(suffix[0]) == std::string::npos) return {};
  for (const char c : suffix.substr(1)) {
    if (c < '0' || c > '9') return {};
  }
  return Type{suffix[0], std::stoi(suffix.substr(1))};
}

Bits cut(Bits bits, int width) { return width >= 64 ? bits : bits & ((Bits{1} << width) - 1); }
std::int64_t extended(Bits bits, int width) {
  const Bits sign = Bits{1} << (width - 1);
  return static_cast<std::int64_t>((cut(bits, width) ^ sign) - sign);
}

double number(Bits bits, Type type) {
  if (type.kind == 's') return static_cast<double>(extended(bits, type.bits));
  if (type.kind != 'f') return static_cast<double>(cut(bits, type.bits));
  if (type.bits == 64) return std::bit_cast<double>(bits);
  if (type.bits == 32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return kernels::half_to_float(static_cast<kernels::u16>(bits));
}
Bits bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
Bits bits_of(double value) { return std::bit_cast<Bits>(value); }

class Thread {
 public:
  /// `block` and `thread` count along x first.
  Thread(const std::vector<Statement>& body, const PtxLaunch& launch, std::uint32_t block,
         std::uint32_t thread)
      : body_(body), launch_(launch) {
    scopes_.emplace_back();
    set("%ctaid.x", block % launch.grid_x), set("%ctaid.y", block / launch.grid_x);
    set("%tid.x", thread % launch.block_x), set("%tid.y", thread / launch.block_x);
    set("%nctaid.x", launch.grid_x), set("%nctaid.y", launch.grid_y);
    set("%ntid.x", launch.block_x), set("%ntid.y", launch.block_y);
  }

  void run() {
    for (at_ = 0; at_ < body_.size(); ++at_) {
      const Statement& s = body_[at_];
      if (s.text == "{") {
        scopes_.emplace_back();
      } else if (s.text == "}") {
        scopes_.pop_back();
      } else if (!s.opcode.empty() && is_active(s)) {
        if (s.opcode[0] == "ret") return;
        execute(s);
      }
    }
  }

 private:
  // --- registers
  bool is_active(const Statement& s) {
    if (s.guard.empty()) return true;
    return s.guard[0] == '!' ? get(s.guard.substr(1)) == 0 : get(s.guard) != 0;
  }
  void set(const std::string& name, Bits bits) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const bool is_own = scope + 1 == scopes_.rend() || declares(*scope, name);
      if (is_own) return void((*scope)[name] = bits);
    }
  }
  using Scope = std::map<std::string, Bits>;
  /// A block's own registers are declared by their prefix, as "%r<5>", or by name.
  static bool declares(const Scope& scope, const std::string& name) {
    return scope.contains(name) ||
           scope.contains(name.substr(0, name.find_last_not_of("0123456789") + 1) + "<");
  }
  void declare(const Statement& s) {
    for (std::size_t k = 1; k < s.operands.size(); ++k) {
      const auto bracket = s.operands[k].find('<');
      scopes_.back()[bracket == std::string::npos ? s.operands[k]
                                                  : s.operands[k].substr(0, bracket + 1)] = 0;
    }
  }
  Bits get(const std::string& operand) {
    if (operand.starts_with("0f") || operand.starts_with("0d"))
      return std::stoull(operand.substr(2), nullptr, 16);
    if (operand[0] != '%') return static_cast<Bits>(std::stoll(operand, nullptr, 0));
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->find(operand);
      if (found != scope->end()) return found->second;
      if (declares(*scope, operand)) break;
    }
    throw std::runtime_error(operand + " has no value in " + body_[at_].text);
  }

  // --- instructions
  [[noreturn]] void unknown(const Statement& s) { throw std::runtime_error("PTX: " + s.text); }
  static bool has(const Statement& s, std::string_view modifier) {
    for (const std::string& part : s.opcode) {
      if (part == modifier) return true;
    }
    return false;
  }

  void execute(const Statement& s) {
    if (s.text.starts_with(".reg")) return declare(s);
    const std::string& name = s.opcode[0];
    if (name == "griddepcontrol") return;
    if (name == "bra") return jump(s.operands[0]);
    const std::optional<Type> type = type_of(s.opcode.back());
    if (!type) unknown(s);
    if (name == "ld" || name == "st") return access(s, *type);
    if (name == "cvt") return set(s.operands[0], converted(s, *type));
    if (name == "setp") return set(s.operands[0], compare(s, *type) ? 1 : 0);
    std::vector<Bits> x;
    for (std::size_t k = 1; k < s.operands.size(); ++k) x.push_back(get(s.operands[k]));
    if (name == "mov" || name == "selp" || type->kind == 'p') {
      set(s.operands[0], chosen(s, *type, x));
    } else if (type->kind != 'f') {
      set(s.operands[0], integer(s, *type, x));
    } else if (type->bits == 32) {
      set(s.operands[0], floating<float>(s, *type, x));
    } else {
      set(s.operands[0], floating<double>(s, *type, x));
    }
  }
  /// Ahead to a label of the same block or of one around it; of the outermost one also back.
  void jump(const std::string& label) {
    std::size_t depth = scopes_.size();
    for (std::size_t to = at_; to < body_.size(); ++to) {
      if (is_label(to, label, depth)) return go(to, depth);
    }
    depth = 1;
    for (std::size_t to = 0; to < at_; ++to) {
      if (is_label(to, label, depth) && depth == 1) return go(to, 1);
    }
    throw std::runtime_error("PTX: no label " + label);
  }
  /// Follows the depth of the blocks.
  bool is_label(std::size_t to, const std::string& label, std::size_t& depth) {
    depth += body_[to].text == "{" ? 1u : 0u;
    depth -= body_[to].text == "}" ? 1u : 0u;
    return body_[to].text == label + ":" && depth <= scopes_.size();
  }
  void go(std::size_t to, std::size_t depth) {
    scopes_.resize(depth);
    at_ = to;
  }
  Bits chosen(const Statement& s, Type type, const std::vector<Bits>& x) {
    const std::string& name = s.opcode[0];
    if (name == "mov" && x.size() == 1) return cut(x[0], type.bits);
    if (name == "selp") return cut(x[2] != 0 ? x[0] : x[1], type.bits);
    if (name == "and") return x[0] & x[1];
    if (name == "or") return x[0] | x[1];
    if (name == "xor") return x[0] ^ x[1];
    if (name == "not") return x[0] ^ 1;
    unknown(s);
  }

  /// Of less than 32 bits, extended to 32.
  static Bits in_register(Bits bits, Type type) {
    const bool extends = type.kind == 's' && type.bits < 32;
    return extends ? cut(static_cast<Bits>(extended(bits, type.bits)), 32) : cut(bits, type.bits);
  }
  void access(const Statement& s, Type type) {
    const bool loads = s.opcode[0] == "ld";
    std::string place = s.operands[loads ? s.operands.size() - 1 : 0];
    place = place.substr(1, place.size() - 2);
    const std::size_t bytes = static_cast<std::size_t>(type.bits) / 8;
    if (s.opcode[1] == "param") {
      const Words parts = split(place, "+");
      const std::size_t offset = parts.size() > 1 ? std::stoul(parts[1]) : 0;
      Bits bits = launch_.more;
      if (parts[0] == "block") {
        std::memcpy(&bits, reinterpret_cast<const char*>(launch_.block.data()) + offset, bytes);
      }
      return set(s.operands[0], in_register(bits, type));
    }
    char* const address = reinterpret_cast<char*>(get(place));
    const std::size_t first = loads ? 0 : 1, count = s.operands.size() - 1;
    if (reinterpret_cast<Bits>(address) % (bytes * count) != 0) {
      throw std::runtime_error("not aligned: " + s.text);
    }
    for (std::size_t k = 0; k < count; ++k) {
      Bits bits = 0;
      if (loads) {
        std::memcpy(&bits, address + k * bytes, bytes);
        set(s.operands[k], in_register(bits, type));
      } else {
        bits = get(s.operands[first + k]);
        std::memcpy(address + k * bytes, &bits, bytes);
      }
    }
  }

  /// cvt[.rounding].to.from
  Bits converted(const Statement& s, Type from) {
    const std::optional<Type> to = type_of(s.opcode[s.opcode.size() - 2]);
    const Bits bits = get(s.operands[1]);
    if (!to && s.opcode[s.opcode.size() - 2] == "bf16")
      return kernels::float_to_bfloat(static_cast<float>(number(bits, from)));
    if (!to) unknown(s);
    if (to->kind == 'f') return to_float(s, *to, from, bits);
    if (from.kind != 'f') {
      const Bits wide =
          from.kind == 's' ? static_cast<Bits>(extended(bits, from.bits)) : cut(bits, from.bits);
      return cut(wide, to->bits);
    }
    if (!has(s, "rzi")) unknown(s);
    const double value = std::trunc(number(bits, from));
    return cut(to->kind == 'u' ? static_cast<Bits>(value)
                               : static_cast<Bits>(static_cast<std::int64_t>(value)),
               to->bits);
  }
  Bits to_float(const Statement& s, Type to, Type from, Bits bits) {
    if (from.kind == 'f') {
      if (has(s, "rni")) return rounded(std::nearbyint(number(bits, from)), to);
      return rounded(number(bits, from), to);
    }
    if (from.kind == 's') {
      const std::int64_t value = extended(bits, from.bits);
      return to.bits == 64 ? bits_of(static_cast<double>(value))
                           : bits_of(static_cast<float>(value));
    }
    const Bits value = cut(bits, from.bits);
    return to.bits == 64 ? bits_of(static_cast<double>(value)) : bits_of(static_cast<float>(value));
  }
  static Bits rounded(double value, Type to) {
    if (to.bits == 64) return bits_of(value);
    const auto single = static_cast<float>(value);
    return to.bits == 32 ? bits_of(single) : kernels::float_to_half(single);
  }

  bool compare(const Statement& s, Type type) {
    const std::string& how = s.opcode[1];
    const Bits a = get(s.operands[1]), b = get(s.operands[2]);
    if (type.kind == 'f') {
      const double x = number(a, type), y = number(b, type);
      const bool is_nan = x != x || y != y;
      if (how == "nan") return is_nan;
      if (how == "num") return !is_nan;
      if (how.ends_with("u")) return is_nan || compared(how.substr(0, how.size() - 1), x, y);
      return !is_nan && compared(how, x, y);
    }
    if (type.kind == 's') return compared(how, extended(a, type.bits), extended(b, type.bits));
    return compared(how, cut(a, type.bits), cut(b, type.bits));
  }
  template <class T>
  static bool compared(const std::string& how, T x, T y) {
    if (how == "eq") return x == y;
    if (how == "ne") return x != y;
    if (how == "lt") return x < y;
    if (how == "le") return x <= y;
    if (how == "gt") return x > y;
    if (how == "ge") return x >= y;
    throw std::runtime_error("PTX: comparison " + how);
  }

  Bits integer(const Statement& s, Type type, const std::vector<Bits>& x) {
    const std::string& name = s.opcode[0];
    const bool is_signed = type.kind == 's';
    const auto value = [&](std::size_t k) {
      return is_signed ? static_cast<Bits>(extended(x[k], type.bits)) : cut(x[k], type.bits);
    };
    const auto result = [&](Bits bits) { return cut(bits, type.bits); };
    if (name == "add") return result(x[0] + x[1]);
    if (name == "sub") return result(x[0] - x[1]);
    if (name == "neg") return result(0 - x[0]);
    if (name == "mul" && has(s, "wide")) return cut(value(0) * value(1), 2 * type.bits);
    if (name == "mul" && has(s, "lo")) return result(x[0] * x[1]);
    if (name == "mad" && has(s, "lo")) return result(x[0] * x[1] + x[2]);
    if ((name == "div" || name == "rem") && !is_signed) {
      return name == "div" ? value(0) / value(1) : value(0) % value(1);
    }
    if (name == "and") return result(x[0] & x[1]);
    if (name == "or") return result(x[0] | x[1]);
    if (name == "xor") return result(x[0] ^ x[1]);
    if (name == "not") return result(~x[0]);
    if (name == "min" || name == "max") {
      const bool less =
          is_signed ? static_cast<std::int64_t>(value(0)) < static_cast<std::int64_t>(value(1))
                    : value(0) < value(1);
      return result(less == (name == "min") ? x[0] : x[1]);
    }
    if (name == "shl") return x[1] >= 64 ? 0 : result(x[0] << x[1]);
    if (name == "shr") {
      const Bits by = std::min<Bits>(x[1], 63);
      return result(is_signed ? static_cast<Bits>(static_cast<std::int64_t>(value(0)) >> by)
                              : value(0) >> by);
    }
    if (name == "bfe") {
      const auto width = static_cast<int>(x[2]);
      const Bits field = cut(cut(x[0], type.bits) >> x[1], width);
      return is_signed ? result(static_cast<Bits>(extended(field, width))) : field;
    }
    if (name == "bfi") {
      const Bits mask = cut(~Bits{0}, static_cast<int>(x[3])) << x[2];
      return result((x[1] & ~mask) | (x[0] << x[2] & mask));
    }
    unknown(s);
  }

  template <class T>
  Bits floating(const Statement& s, Type type, const std::vector<Bits>& x) {
    const std::string& name = s.opcode[0];
    const auto value = [&](std::size_t k) { return static_cast<T>(number(x[k], type)); };
    if (name == "add") return bits_of(value(0) + value(1));
    if (name == "sub") return bits_of(value(0) - value(1));
    if (name == "mul") return bits_of(value(0) * value(1));
    if (name == "div") return bits_of(value(0) / value(1));
    if (name == "neg") return bits_of(-value(0));
    if (name == "abs") return bits_of(std::abs(value(0)));
    if (name == "min") return bits_of(std::fmin(value(0), value(1)));
    if (name == "max") return bits_of(std::fmax(value(0), value(1)));
    unknown(s);
  }

  const std::vector<Statement>& body_;
  const PtxLaunch& launch_;
  std::vector<Scope> scopes_;
  std::size_t at_ = 0;
};

}  // namespace

void run_ptx(const std::string& module, const PtxLaunch& launch) {
  const std::vector<Statement> body = body_of(module);
  for (std::uint32_t block = 0; block < launch.grid_x * launch.grid_y; ++block) {
    for (std::uint32_t thread = 0; thread < launch.block_x * launch.block_y; ++thread) {
      Thread(body, launch, block, thread).run();
    }
  }
}

}  // namespace quarry::test
