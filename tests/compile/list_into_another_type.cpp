// SPDX-License-Identifier: BSD-3-Clause
#include <list>
#include <quarry/quarry.hpp>

#ifdef QUARRY_VALID
using Value = double;  // converted on its way
#else
using Value = int;
#endif
void f(const quarry::DeviceNDArray<float>& a, std::list<Value>& list) {
  a.copy_to_host(list);  // one error: this copy can lose the kind of the values
}
