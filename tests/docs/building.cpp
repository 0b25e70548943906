// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/building.md.
#include <quarry/npy.hpp>
#include <quarry/quarry.hpp>
#include <quarry/xtensor.hpp>

#include <unistd.h>

#include <filesystem>
#include <string>

#include "check.hpp"

namespace qy = quarry;

namespace {

void lists() {
  // example-begin lists
  auto v = qy::to_device({1.f, 2.f, 3.f, 4.f, 5.f, 6.f});  // shape (6,)
  auto m = v.reshape({2, 3});                              // a view of it
  auto n = qy::to_device(xt::xtensor<float, 2>{{1, 2, 3}, {4, 5, 6}});
  // example-end
  CHECK(v.shape() == qy::Shape{6} && qy::array_equal(m, n));
}

void files() {
  // example-begin files
  auto dem = qy::load<float>("dem.npy");
  xt::xarray<float> host = qy::load_npy<float>("dem.npy");
  // example-end
  CHECK(host(1, 2) == 6 && dem(1, 2).item() == 6);
}

// clang-format off
// example-begin load
qy::DeviceNDArray<float> load(const std::string& path) {
  try {
    return qy::load<float>(path);
  } catch (const qy::DTypeError&) {
    return qy::astype<float>(qy::load<double>(path));
  }
}
// example-end
// clang-format on

}  // namespace

int main() {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("quarry-docs-building-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::filesystem::current_path(folder);
  qy::save_npy("dem.npy", qy::arange(1.f, 7.f).reshape({2, 3}));
  qy::save_npy("wide.npy", qy::arange(1., 7.).reshape({2, 3}));
  lists();
  files();
  CHECK(qy::array_equal(load("dem.npy"), load("wide.npy")));
  std::filesystem::remove_all(folder);
}
