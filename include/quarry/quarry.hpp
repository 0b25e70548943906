// SPDX-License-Identifier: BSD-3-Clause
#pragma once
/// The whole of Quarry but for what other libraries bring: see xtensor.hpp and npy.hpp.
#include <quarry/array/creation.hpp>
#include <quarry/array/ndarray.hpp>
#include <quarry/array/view.hpp>
#include <quarry/expr/evaluate.hpp>
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/pool.hpp>
#include <quarry/memory/resource.hpp>
#include <quarry/memory/upstream.hpp>
#include <quarry/ops/elementwise.hpp>
#include <quarry/ops/reduce.hpp>
#include <quarry/runtime/compile.hpp>
#include <quarry/runtime/device.hpp>
#include <quarry/runtime/event.hpp>
#include <quarry/runtime/stream.hpp>
