// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/npy.hpp>

#include <cstddef>

/// data() and size() alone say nothing of where the elements lie.
struct Sparse {
  const float* data() const { return nullptr; }
  std::size_t size() const { return 0; }
};
#ifdef QUARRY_VALID
template <>
inline constexpr bool quarry::is_contiguous_host_range<Sparse> = true;
#endif

void f(const Sparse& a) {
  quarry::save_npy("a.npy", a);  // error: the elements of this type need not lie in a row
}
