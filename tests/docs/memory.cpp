// SPDX-License-Identifier: BSD-3-Clause
// The examples of docs/memory.md and docs/numerics.md.
#include <quarry/quarry.hpp>

#include "check.hpp"

#include <array>

namespace qy = quarry;

namespace {

void order() {
  // example-begin order
  auto s = qy::stream(), t = qy::stream();
  auto a = qy::zeros<float>({1000}, {.stream = s});  // queued in s
  qy::Event filled = s.record();
  t.wait_event(filled);  // t goes on when the zeros are there
  {
    const qy::StreamGuard guard(t);
    a += 1.f;  // queued in t
  }
  t.synchronize();
  // example-end
  CHECK(qy::sum(a).item() == 1000);
}

void adopt() {
  const qy::DeviceGuard on_cpu(qy::Device::cpu());
  // example-begin adopt
  auto owner = std::make_shared<std::array<float, 6>>();
  auto buffer = qy::Buffer::adopt(owner->data(), sizeof *owner, qy::default_stream(), owner);
  qy::DeviceNDArray<float> a({{2, 3}, {12, 4}}, buffer->data(), buffer);  // byte strides
  a(qy::all) = 1.f;
  // example-end
  CHECK((*owner)[5] == 1);
}

void scalars() {
  const auto bytes = qy::ones<std::uint8_t>({2});
  bool thrown = false;
  // example-begin range
  try {
    auto too_large = bytes + 300;
  } catch (const qy::DTypeError& e) {  // "300 does not fit in uint8"
    thrown = true;
  }
  qy::DeviceNDArray<std::int64_t> wide = bytes.astype<std::int64_t>() + 300;
  // example-end
  CHECK(thrown && wide(0).item() == 301);
}

}  // namespace

int main() {
  order();
  adopt();
  scalars();
}
