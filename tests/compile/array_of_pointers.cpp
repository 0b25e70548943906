// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>
#include <string>

#ifdef QUARRY_VALID
quarry::DeviceNDArray<int> a;
#else
quarry::DeviceNDArray<std::string> a;  // one error: not a type that an array can hold
#endif
