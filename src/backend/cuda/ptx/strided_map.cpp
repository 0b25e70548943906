// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/kernels/access.hpp>

#include "backend/cuda/ptx/map_kernel.hpp"

namespace quarry::backend::cuda {
namespace {

using kernels::input_access;

/// The arguments of map_strided behind the program, but for the bytes of positions: 4.
struct StridedArguments {
  int rank, rows, width;
  unsigned wide;
};

class StridedMapKernel : public PtxMapKernel {
 public:
  StridedMapKernel(const PtxMap& map, const StridedArguments& arguments)
      : PtxMapKernel(map, arguments.rank, "order"), a_(arguments) {}

  /// False if an expression has a part of which there is no PTX.
  bool write(const PtxRequest& request) {
    wait_for_stream(request);
    const std::string rows = count_of_rows();
    locate_block();
    const std::string column = first_column(), columns = extent(a_.rank - 1);
    leave_unless("ge", column, "0");
    leave_unless("lt", column, columns);
    const bool is_complete = write_rows(rows, column);
    code_.label("END");
    code_.add("ret");
    return is_complete;
  }

 private:
  std::string product(const std::string& a, const std::string& b) {
    return code_.word_of("mul.lo.s32", a + ", " + b);
  }
  std::string sum(const std::string& a, const std::string& b) {
    return code_.word_of("add.s32", a + ", " + b);
  }
  std::string difference(const std::string& a, const std::string& b) {
    return code_.word_of("sub.s32", a + ", " + b);
  }
  std::string quotient(const std::string& a, const std::string& b) {
    return code_.word_of("div.u32", a + ", " + b);
  }
  std::string chosen(const std::string& a, const std::string& b, const std::string& condition) {
    return code_.word_of("selp.b32", fmt::format("{}, {}, {}", a, b, condition));
  }
  std::string is(const char* how, const std::string& a, const std::string& b) {
    return code_.test(fmt::format("setp.{}.s32", how), a + ", " + b);
  }
  /// Of the parameter block, one that fits 32 bits.
  std::string parameter(int place) {
    return code_.word_of("ld.param.u32", fmt::format("[block+{}]", 8 * place));
  }
  std::string extent(int axis) { return parameter(places_.shape() + axis); }
  std::string stride(std::size_t operand, int axis) {
    return parameter(places_.strides() + static_cast<int>(operand) * a_.rank + axis);
  }
  void leave_unless(const char* how, const std::string& a, const std::string& b) {
    code_.add("@!{} bra END", is(how, a, b));
  }

  // --- the place of the thread: place_of_block and lead of kernels/map.cuh
  std::string count_of_rows() {
    std::string rows = code_.word_of("mov.b32", "1");
    for (int d = 0; d < a_.rank - 1; ++d) rows = product(rows, extent(d));
    return rows;
  }
  std::string bit_of_order(int bit) {
    const std::string masked = code_.word_of("and.b32", fmt::format("{}, {}", order_, bit));
    return code_.test("setp.ne.u32", masked + ", 0");
  }
  void locate_block() {
    order_ = more();
    const std::string x = special("%ctaid.x"), y = special("%ctaid.y");
    const std::string width = special("%nctaid.x"), height = special("%nctaid.y");
    const std::string number = code_.word_of("mad.lo.u32", fmt::format("{}, {}, {}", y, width, x));
    const std::string across = code_.word_of("div.u32", number + ", " + height);
    const std::string down = code_.word_of("rem.u32", number + ", " + height);
    const std::string rows_first = bit_of_order(kernels::blocks_rows_first);
    block_column_ = code_.word_of("selp.u32", fmt::format("{}, {}, {}", across, x, rows_first));
    const std::string row =
        code_.word_of("selp.u32", fmt::format("{}, {}, {}", down, y, rows_first));
    const std::string last = code_.word_of("add.u32", height + ", -1");
    const std::string from_end = code_.word_of("sub.u32", last + ", " + row);
    const std::string backwards = bit_of_order(kernels::blocks_backwards);
    block_row_ = code_.word_of("selp.u32", fmt::format("{}, {}, {}", from_end, row, backwards));
  }
  std::string first_column() {
    const std::string before = product(block_column_, special("%ntid.x"));
    const std::string vector = sum(before, special("%tid.x"));
    return difference(product(vector, std::to_string(a_.width)), lead());
  }
  /// The columns that the grid begins before the first one.
  std::string lead() {
    const std::size_t size = DType(map_.operands[0]).itemsize();
    const std::string stride_of_column = word_of_block(places_.strides() + a_.rank - 1);
    const std::string columns = word_of_block(places_.shape() + a_.rank - 1);
    const std::string is_dense =
        code_.test("setp.eq.s64", fmt::format("{}, {}", stride_of_column, size));
    const std::string is_far =
        code_.test("setp.ge.s64", fmt::format("{}, {}", columns, kernels::lead_columns));
    const std::string leads = code_.predicate();
    code_.add("and.pred {}, {}, {}", leads, is_dense, is_far);
    const std::string low = code_.word_of("cvt.u32.u64", pointer(0));
    const std::string in_line = code_.word_of("and.b32", low + ", 127");
    const std::string elements = code_.word_of("div.u32", fmt::format("{}, {}", in_line, size));
    return chosen(elements, "0", leads);
  }

  // --- its rows: for_each_row and run_rows of kernels/map.cuh
  bool write_rows(const std::string& rows, const std::string& column) {
    const std::string by = special("%ntid.y"), y = special("%tid.y");
    const std::string each = std::to_string(a_.rows);
    const std::string block = product(by, each);
    std::string whole = code_.word_of("mov.b32", "0"), before = whole;
    if (a_.rows > 1) {
      const std::string mask = code_.word_of("not.b32", sum(block, "-1"));
      whole = code_.word_of("and.b32", rows + ", " + mask);
      before = difference(whole, quotient(whole, each));
    }
    const std::string first = product(block_row_, by);
    const std::string further = product(special("%nctaid.y"), by);
    code_.label("LOOP");
    leave_unless("lt", sum(first, before), rows);
    const std::string of_whole = product(first, each);
    const std::string is_whole = is("lt", of_whole, whole);
    const std::string row = sum(chosen(of_whole, sum(first, before), is_whole), y);
    const std::string is_there = is("lt", row, rows);
    code_.add("@!{} bra NEXT", is_there);
    if (!write_elements(column, row, chosen(by, "0", is_whole), is_whole)) return false;
    code_.label("NEXT");
    code_.add("add.s32 {}, {}, {}", first, first, further);
    code_.add("bra LOOP");
    return true;
  }

  /// The addresses of one element of all operands: kernels/map_addresses.cuh.
  std::vector<std::string> addresses(const std::string& column, std::string row) {
    const std::size_t count = map_.operands.size();
    std::vector<std::string> offset;
    for (std::size_t k = 0; k < count; ++k) {
      offset.push_back(product(column, stride(k, a_.rank - 1)));
    }
    for (int d = a_.rank - 2; d >= 0; --d) {
      std::string j = row;
      if (d > 0) {
        const std::string size = extent(d);
        const std::string next = quotient(row, size);
        j = difference(row, product(next, size));
        row = next;
      }
      for (std::size_t k = 0; k < count; ++k) {
        offset[k] =
            code_.word_of("mad.lo.s32", fmt::format("{}, {}, {}", j, stride(k, d), offset[k]));
      }
    }
    for (std::size_t k = 0; k < count; ++k) offset[k] = moved(pointer(k), offset[k]);
    return offset;
  }
  std::string moved(const std::string& address, const std::string& offset) {
    return code_.wide_of("add.s64", address + ", " + code_.wide_of("cvt.s64.s32", offset));
  }
  /// The same, one row of the thread further on.
  std::vector<std::string> addresses_of_next(const std::string& column, const std::string& row,
                                             const std::string& by,
                                             std::vector<std::string> before) {
    if (a_.rank != 2) return addresses(column, row);
    for (std::size_t k = 0; k < before.size(); ++k) {
      before[k] = moved(before[k], product(stride(k, 0), by));
    }
    return before;
  }

  std::vector<Loaded> load_inputs(const std::vector<std::string>& at) {
    std::vector<Loaded> inputs;
    for (std::size_t k = map_.outputs(); k < at.size(); ++k) {
      const auto input = static_cast<int>(k - map_.outputs());
      inputs.push_back(load(k, input_access::of(a_.wide, input).is_wide ? a_.width : 1, at[k]));
    }
    return inputs;
  }
  /// `rows` rows, `by` apart, or the first one alone unless `is_whole`. All loads come first, so
  /// that they are in flight together.
  bool write_elements(const std::string& column, std::string row, const std::string& by,
                      const std::string& is_whole) {
    std::vector<std::vector<std::string>> at;
    std::vector<std::vector<Loaded>> inputs;
    std::vector<std::string> numbers;
    for (int r = 0; r < a_.rows; ++r) {
      if (r > 0) row = sum(row, by);
      numbers.push_back(row);
      at.push_back(r == 0 ? addresses(column, row) : addresses_of_next(column, row, by, at.back()));
      inputs.push_back(load_inputs(at.back()));
    }
    for (std::size_t r = 0; r < at.size(); ++r) {
      std::vector<std::vector<std::string>> outputs;
      if (!compute(a_.width, position(numbers[r], column), inputs[r], outputs)) return false;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        PtxAccess(map_.operands[k], a_.width)
            .store(code_, at[r][k], outputs[k], r == 0 ? "" : "@" + is_whole);
      }
    }
    return true;
  }
  std::string position(const std::string& row, const std::string& column) {
    const std::string columns = word_of_block(places_.shape() + a_.rank - 1);
    const std::string before = code_.wide_of("cvt.s64.s32", row);
    return code_.wide_of("mad.lo.s64", fmt::format("{}, {}, {}", before, columns,
                                                   code_.wide_of("cvt.s64.s32", column)));
  }

  StridedArguments a_;
  std::string order_, block_column_, block_row_;
};

}  // namespace

/// The rest is NVRTC's. The driver's linker uses none of the registers that a warp shares, so that
/// addresses take more instructions and registers of threads: that matters where there are many,
/// where they have 64 bits, and where a thread writes few bytes. Every second element, and rows
/// backwards, are of other kernels.
std::optional<PtxKernel> strided_map(const PtxMap& map, const PtxRequest& request) {
  constexpr std::size_t most_operands = 3, least_bytes = 4;
  const std::vector<int>& a = request.arguments;
  if (a.size() < 3 || a[0] < 1 || a[1] != 4 || map.operands.size() > most_operands) {
    return std::nullopt;
  }
  for (std::size_t k = 0; k < map.outputs(); ++k) {
    if (DType(map.operands[k]).itemsize() < least_bytes) return std::nullopt;
  }
  const StridedArguments arguments{a[0], a[2], a.size() > 3 ? a[3] : 1,
                                   a.size() > 4 ? static_cast<unsigned>(a[4]) : 0};
  if (arguments.wide >> input_access::other_step != 0) return std::nullopt;
  StridedMapKernel kernel(map, arguments);
  return kernel.write(request) ? std::optional(kernel.finished(request)) : std::nullopt;
}

}  // namespace quarry::backend::cuda
