// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#include <vector>

void f(const quarry::DeviceNDArray<const float>& view, const std::vector<float>& h) {
#ifdef QUARRY_VALID
  view.copy().copy_to_device(h);
#else
  view.copy_to_device(h);  // one error: the elements of this array are read-only
#endif
}
