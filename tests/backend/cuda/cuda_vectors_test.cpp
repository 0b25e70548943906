// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <quarry/kernels/access.hpp>

#include "backend/cuda/launch/vectors.hpp"
#include "backend/cuda/operands_case.hpp"

/// By which vectors the operands of a launch are accessed.
namespace quarry::backend::cuda {
namespace {

int width(std::vector<std::uint64_t> pointers, std::vector<std::uint32_t> sizes) {
  const std::vector<std::int64_t> dense(sizes.begin(), sizes.end());
  return vector_width(Case{std::move(pointers), std::move(sizes), dense}.operands());
}

TEST(cuda_vectors, vectors_are_sixteen_bytes_of_the_widest_operand) {
  EXPECT_EQ(width({256, 512}, {4, 4}), 4);
  EXPECT_EQ(width({256, 512}, {1, 1}), 16);
  EXPECT_EQ(width({256, 512}, {8, 2}), 2);
  EXPECT_EQ(width({256, 512}, {16, 1}), 1);
}

TEST(cuda_vectors, vectors_shrink_to_the_least_alignment) {
  EXPECT_EQ(width({256, 520}, {4, 4}), 2);
  EXPECT_EQ(width({256, 516}, {4, 4}), 1);
  EXPECT_EQ(width({257, 512}, {1, 1}), 1);
  EXPECT_EQ(width({256, 514}, {4, 1}), 2);
}

TEST(cuda_vectors, elements_that_are_no_power_of_two_are_moved_one_by_one) {
  EXPECT_EQ(width({256, 512}, {3, 1}), 1);
  EXPECT_EQ(width({256, 512}, {24, 24}), 1);
}

void expect_vectors(const VectorAccess& access, int width, int wide, bool is_shifted = false) {
  EXPECT_EQ(access.places == VectorPlaces::shifted, is_shifted);
  EXPECT_EQ(access.width, width);
  EXPECT_EQ(access.wide, wide);
}

TEST(cuda_vectors, dense_rows_are_moved_by_vectors) {
  const auto vectors = [](std::int64_t columns) {
    return map_vectors(Case{{256, 512}, {4, 4}, {400, 4, 800, 4}}.operands(), columns);
  };
  expect_vectors(vectors(100), 4, 1);
  expect_vectors(vectors(102), 2, 1);
  expect_vectors(vectors(101), 1, 0);
}

TEST(cuda_vectors, an_input_that_does_not_move_is_read_once_a_vector) {
  Case c{{256, 513, 512}, {4, 24, 2}, {400, 4, 24, 0, 200, 2}};
  expect_vectors(map_vectors(c.operands(), 100), 4, 2);
}

TEST(cuda_vectors, vectors_of_rows_are_aligned_in_every_row) {
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {408, 4, 800, 4}}.operands(), 100), 2, 1);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {404, 4, 800, 4}}.operands(), 100), 1, 0);
  expect_vectors(map_vectors(Case{{264, 512}, {4, 4}, {400, 4, 800, 4}}.operands(), 100), 2, 1);
  expect_vectors(map_vectors(Case{{256, 516}, {4, 4}, {400, 4, 800, 4}}.operands(), 100), 1, 0);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {400, 4, 800, 8}}.operands(), 100), 1, 0);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {400, 4, -800, 4}}.operands(), 100), 4, 1);
  expect_vectors(map_vectors(Case{{256, 512}, {4, 4}, {400, 8, 800, 4}}.operands(), 100), 1, 0);
}

TEST(cuda_vectors, every_output_is_written_by_vectors) {
  const std::vector<std::int64_t> strides{400, 4, 800, 8, 400, 4};
  expect_vectors(map_vectors(Case{{256, 512, 1024}, {4, 8, 4}, strides, 2}.operands(), 100), 2, 1);
  expect_vectors(map_vectors(Case{{256, 520, 1024}, {4, 8, 4}, strides, 2}.operands(), 100), 1, 0);
  const std::vector<std::int64_t> far{400, 4, 800, 16, 400, 4};
  expect_vectors(map_vectors(Case{{256, 512, 1024}, {4, 8, 4}, far, 2}.operands(), 100), 1, 0);
}

TEST(cuda_vectors, too_many_inputs_are_read_one_by_one) {
  for (const std::size_t inputs : {16u, 17u}) {
    Case c{std::vector<std::uint64_t>(inputs + 1, 256), std::vector<std::uint32_t>(inputs + 1, 4),
           std::vector<std::int64_t>(inputs + 1, 4)};
    expect_vectors(map_vectors(c.operands(), 100), inputs > 16 ? 1 : 4, inputs > 16 ? 0 : 0xffff);
  }
}

TEST(cuda_vectors, reductions_read_vectors_whatever_their_output) {
  expect_vectors(row_vectors(Case{{257, 512}, {8, 4}, {3, 0, 800, 4}}.operands(), 1, 100), 4, 1);
  expect_vectors(row_vectors(Case{{257, 512}, {8, 4}, {3, 0, 804, 4}}.operands(), 1, 100), 4, 1,
                 true);
  expect_vectors(row_vectors(Case{{256, 512}, {4, 4}, {4, 0, 4, 0}}.operands(), 1, 100), 1, 0);
}

TEST(cuda_vectors, rows_of_any_alignment_have_vectors_if_all_are_shifted_alike) {
  const auto rows = [](std::vector<std::uint64_t> pointers, std::vector<std::int64_t> strides,
                       std::size_t reduced_rank, std::int64_t extent) {
    std::vector<std::uint32_t> sizes(pointers.size(), 4);
    sizes[0] = 8;
    return row_vectors(Case{std::move(pointers), std::move(sizes), std::move(strides)}.operands(),
                       reduced_rank, extent);
  };
  expect_vectors(rows({256, 516}, {8, 0, 4004, 4}, 1, 1001), 4, 1, true);
  expect_vectors(rows({256, 516}, {8, 0, 4004, 4}, 1, 20), 2, 1, true);
  expect_vectors(rows({256, 512}, {8, 0, 4000, 4}, 1, 20), 4, 1);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 4004, 4}, 1, 1001), 4, 3, true);
  expect_vectors(rows({256, 512, 1028}, {8, 0, 4004, 4, 4004, 4}, 1, 1001), 1, 0);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 4008, 4}, 1, 1001), 1, 0);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 0, 0}, 1, 1001), 4, 1, true);
  expect_vectors(rows({256, 512, 1024}, {8, 0, 4004, 4, 8, 8}, 1, 1001), 1, 0);
  expect_vectors(rows({256, 512}, {8, 0, 400, 4}, 2, 100), 4, 1);
  expect_vectors(rows({256, 512}, {8, 0, 404, 4}, 2, 101), 1, 0);
}

TEST(cuda_vectors, every_second_element_of_smaller_ones_is_in_no_shifted_vector) {
  const auto width = [](std::uint32_t second, std::size_t outputs) {
    Case c{{256, 512, 1024}, {8, second, 8}, {1000, 8, 1000, 8, 1000, 8}, outputs};
    return shifted_map_vectors(c.operands()).width;
  };
  for (const std::size_t outputs : {1u, 2u}) {
    EXPECT_EQ(width(8, outputs), 2);
    EXPECT_EQ(width(4, outputs), 1);
  }
}

TEST(cuda_vectors, rows_of_every_second_element_have_vectors_with_gaps) {
  constexpr int gaps = 1 << kernels::input_access::other_step;
  const auto rows = [](std::uint64_t pointer, std::uint32_t size, std::int64_t row,
                       std::size_t reduced_rank = 1) {
    const auto step = static_cast<std::int64_t>(2 * size);
    Case c{{256, pointer}, {8, size}, {8, 0, row, step}};
    return row_vectors(c.operands(), reduced_rank, 1000);
  };
  expect_vectors(rows(512, 1, 2000), 8, 1 | gaps, true);
  expect_vectors(rows(514, 1, 2002), 8, 1 | gaps, true);
  expect_vectors(rows(512, 2, 4000), 4, 1 | gaps, true);
  expect_vectors(rows(512, 4, 8000), 2, 1 | gaps, true);
  expect_vectors(rows(512, 8, 16000), 1, 0);
  expect_vectors(rows(513, 1, 2000), 1, 0);
  expect_vectors(rows(512, 1, 2001), 1, 0);
  expect_vectors(rows(512, 1, 2000, 2), 1, 0);
  const auto pair = [](std::uint32_t first, std::int64_t step, std::uint32_t second) {
    Case c{{256, 512, 1024}, {8, first, second}, {8, 0, 8000, step, 8000, 4}};
    return row_vectors(c.operands(), 1, 1000);
  };
  expect_vectors(pair(2, 4, 2), 4, 3 | 3 * gaps, true);
  expect_vectors(pair(2, 4, 4), 4, 3 | gaps, true);
  expect_vectors(pair(2, 2, 4), 4, 3);
  expect_vectors(pair(2, 2, 2), 1, 0);
  Case many{std::vector<std::uint64_t>(16, 256), std::vector<std::uint32_t>(16, 1),
            std::vector<std::int64_t>(16, 2)};
  expect_vectors(row_vectors(many.operands(), 1, 1000), 1, 0);
}

TEST(cuda_vectors, rows_that_begin_anywhere_have_vectors_where_elements_alone_are_slow) {
  constexpr int other = 1 << kernels::input_access::other_step;
  const auto map = [](std::int64_t rows, std::uint32_t size, std::int64_t step,
                      std::uint64_t pointer = 512) {
    const std::int64_t apart = size, pitch = 1001 * apart;
    Case c{{256 + size, pointer}, {size, size}, {pitch, apart, step < 0 ? -pitch : pitch, step}};
    const CallOperands operands = c.operands();
    return unaligned_map_vectors(operands, rows, 1001, map_vectors(operands, 1001).width);
  };
  expect_vectors(map(1 << 20, 2, 2), 8, 1, true);
  expect_vectors(map(1 << 20, 4, 4), 1, 0);  // several words a thread
  expect_vectors(map(13, 4, 4), 4, 1, true);
  expect_vectors(map(13, 8, 8), 1, 0);
  expect_vectors(map(1 << 20, 4, -4), 4, other, true);
  expect_vectors(map(1 << 20, 1, -1), 16, other, true);
  expect_vectors(map(1 << 20, 8, -8), 1, 0);
  expect_vectors(map(1 << 20, 4, 8), 2, 1 | other, true);
  expect_vectors(map(1 << 20, 4, -8), 1, 0);
  expect_vectors(map(1 << 20, 2, -2, 513), 1, 0);
}

TEST(cuda_vectors, columns_have_vectors_along_the_last_kept_axis) {
  const auto columns = [](std::uint32_t size, std::int64_t row, std::int64_t extent) {
    Case c{{256, 512}, {8, size}, {8, 0, size, row}};
    return column_vectors(c.operands(), 0, extent);
  };
  expect_vectors(columns(4, 400, 100), 4, 1);
  expect_vectors(columns(4, 408, 102), 2, 1);
  expect_vectors(columns(4, 404, 101), 1, 0);
  expect_vectors(columns(2, 400, 200), 4, 1);
  expect_vectors(columns(8, 800, 100), 2, 1);
}

}  // namespace
}  // namespace quarry::backend::cuda
