// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

/// A shared object with expressions of its own, which QUARRY_PLUGIN tells from those of others.
/// All are of the same size, so that one may be loaded where another was.
namespace {

using Array = quarry::DeviceNDArray<double>;

#if QUARRY_PLUGIN == 0
auto value(const Array& x) { return x * 2. + x; }
#elif QUARRY_PLUGIN == 1
auto value(const Array& x) { return x * 2. - x; }
#else
auto value(const Array& x) { return x - 2. * x; }
#endif

}  // namespace

/// to = value(x), queued in the stream of `to`.
extern "C" [[gnu::visibility("default")]] void map_values(const Array& to, const Array& x) {
  to.assign(value(x));
}
extern "C" [[gnu::visibility("default")]] double sum_values(const Array& x) {
  return quarry::sum(value(x)).item();
}
