// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

#ifdef QUARRY_VALID
const quarry::Shape shape{3, 1};
#else
const quarry::Shape shape{3, true};  // error: conver
#endif
