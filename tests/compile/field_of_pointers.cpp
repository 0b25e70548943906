// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/quarry.hpp>

struct Node {
  float x;
  Node* next;
};
#ifdef QUARRY_VALID
QUARRY_RECORD(Node, x);
#else
QUARRY_RECORD(Node, x, next);  // error: a field is a number, a record, or a fixed array of these
#endif
