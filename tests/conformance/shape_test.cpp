// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/shape_cases.hpp"

#include <gtest/gtest.h>

namespace quarry::conformance {
namespace {

using C = ShapeCall;

/// The results of a call, some of whose arrays NumPy returns as one list.
template <class A>
ShapeResults list_of(const std::vector<A>& parts) {
  return {parts.begin(), parts.end()};
}

/// Those of unit axes say nothing.
ShapeResults strides_of(const DeviceNDArrayBase& array) {
  std::vector<std::int32_t> strides;
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    strides.push_back(array.shape()[d] > 1 ? std::int32_t(array.strides()[d]) : 0);
  }
  return {to_device(strides)};
}

using Function = ShapeFunction;

#define QUARRY_BOTH(name, ...)                                          \
  {                                                                     \
#name, [](const C& c) -> ShapeResults {                               \
      const auto& a = c.a();                                            \
      return __VA_ARGS__;                                               \
    },                                                                  \
        [](const C& c) -> ShapeResults {                                \
          const auto a = c.a() + 0;                                     \
          return __VA_ARGS__;                                           \
        } \
  }

const Function functions[] = {
    QUARRY_BOTH(expand_dims, {expand_dims(a, c.axes(0))}),
    QUARRY_BOTH(swapaxes, {swapaxes(a, c.number(0), c.number(1))}),
    QUARRY_BOTH(moveaxis, {moveaxis(a, c.axes(0), c.axes(1))}),
    QUARRY_BOTH(rollaxis, {rollaxis(a, c.number(0), c.number(1))}),
    QUARRY_BOTH(squeeze, {squeeze(a, c.axes(0))}),
    QUARRY_BOTH(transpose, {transpose(a, c.axes(0))}),
    QUARRY_BOTH(diagonal, {diagonal(a, c.number(0), c.number(1), c.number(2))}),
    QUARRY_BOTH(flip, {flip(a, c.axes(0))}),
    QUARRY_BOTH(flip_all, {flip(a)}),
    QUARRY_BOTH(fliplr, {fliplr(a)}),
    QUARRY_BOTH(flipud, {flipud(a)}),
    QUARRY_BOTH(rot90, {rot90(a, c.number(0), c.axes(1))}),
    QUARRY_BOTH(atleast_1d, {atleast_1d(a)}),
    QUARRY_BOTH(atleast_2d, {atleast_2d(a)}),
    QUARRY_BOTH(atleast_3d, {atleast_3d(a)}),
    QUARRY_BOTH(sliding_window_view, {sliding_window_view(a, c.axes(1), c.axes(0))}),
    QUARRY_BOTH(split, list_of(split(a, c.number(0), c.number(1)))),
    QUARRY_BOTH(array_split, list_of(array_split(a, c.number(0), c.number(1)))),
    QUARRY_BOTH(split_at, list_of(split(a, c.arguments[0], c.number(1)))),
    QUARRY_BOTH(hsplit, list_of(hsplit(a, c.number(0)))),
    QUARRY_BOTH(vsplit, list_of(vsplit(a, c.number(0)))),
    QUARRY_BOTH(dsplit, list_of(dsplit(a, c.number(0)))),
    {"broadcast_arrays",
     [](const C& c) -> ShapeResults {
       const auto [a, b] = broadcast_arrays(c.inputs[0], c.inputs[1]);
       return {a, b};
     },
     [](const C& c) -> ShapeResults {
       const auto [a, b] = broadcast_arrays(c.inputs[0] + 0, c.inputs[1]);
       return {a, b};
     }},
    QUARRY_BOTH(diag, {diag(a, c.number(0))}),
    QUARRY_BOTH(diagflat, {diagflat(a, c.number(0))}),
    QUARRY_BOTH(tril, {tril(a, c.number(0))}),
    QUARRY_BOTH(triu, {triu(a, c.number(0))}),
    QUARRY_BOTH(vander,
                {vander(a, c.number(0), {.increasing = c.number(1) == 1})}),
    {"strides_like",
     [](const C& c) -> ShapeResults {
       const std::optional<Order> orders[] = {std::nullopt, Order::c, Order::f, Order::a};
       return strides_of(empty_like(c.a(), {.order = orders[c.number(0)]}));
     }},
    {"strides_of_sum",
     [](const C& c) -> ShapeResults { return strides_of(sum(c.a(), c.axes(0))); },
     [](const C& c) -> ShapeResults { return strides_of(sum(c.a() + 0, c.axes(0))); }},
    {"strides_of_added",
     [](const C& c) -> ShapeResults { return strides_of(eval(c.inputs[0] + c.inputs[1])); }},
    {"eye",
     [](const C& c) -> ShapeResults { return {eye(c.number(0), c.number(1), c.number(2))}; }},
    {"tri",
     [](const C& c) -> ShapeResults { return {tri(c.number(0), c.number(1), c.number(2))}; }},
    {"indices", [](const C& c) -> ShapeResults { return {indices(c.axes(0))}; }},
    {"fromfunction",
     [](const C& c) -> ShapeResults {
       return {fromfunction([](auto i, auto j) { return 10 * i + j; }, {c.number(0), c.number(1)})};
     }},
    {"meshgrid",
     [](const C& c) -> ShapeResults {
       const auto [x, y] = meshgrid(c.inputs[0], c.inputs[1]);
       return {x, y};
     },
     [](const C& c) -> ShapeResults {
       const auto [x, y] = meshgrid(c.inputs[0] + 0, c.inputs[1] + 0.);
       return {x, y};
     }},
    {"meshgrid3",
     [](const C& c) -> ShapeResults {
       const auto [x, y, z] = meshgrid(c.inputs[0], c.inputs[1], c.inputs[2]);
       return {x, y, z};
     }},
    {"meshgrid_ij",
     [](const C& c) -> ShapeResults {
       const auto [x, y, z] = meshgrid<Mesh::ij>(c.inputs[0], c.inputs[1], c.inputs[2]);
       return {x, y, z};
     }},
    {"meshgrid_sparse",
     [](const C& c) -> ShapeResults {
       const auto [x, y] = meshgrid<Mesh::sparse_xy>(c.inputs[0], c.inputs[1]);
       return {x, y};
     }},
    {"mgrid",
     [](const C& c) -> ShapeResults {
       return {mgrid(range(c.number(0), c.number(1), c.number(2)), range(0, 3))};
     }},
    {"ogrid",
     [](const C& c) -> ShapeResults {
       const auto [x, y] = ogrid(range(c.number(0), c.number(1), c.number(2)), range(3));
       return {x, y};
     }},
};

class Shapes : public testing::TestWithParam<Function> {};

TEST_P(Shapes, AreNumPys) { replay_shapes(GetParam().name, GetParam().call); }

TEST_P(Shapes, OfExpressionsAreNumPys) {
  if (GetParam().lazy) replay_shapes(GetParam().name, GetParam().lazy, Views::any);
}

std::string name_of(const testing::TestParamInfo<Function>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(All, Shapes, testing::ValuesIn(functions), name_of);

}  // namespace

std::span<const ShapeFunction> shape_functions() { return functions; }

}  // namespace quarry::conformance
