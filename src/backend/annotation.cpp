// SPDX-License-Identifier: BSD-3-Clause
#include "backend/annotation.hpp"

#include "base/environment.hpp"

namespace quarry::backend {

constinit std::atomic<detail::Shown> detail::shown = detail::Shown::unknown;

/// An invalid value is reported by environment::require_sound().
bool detail::find_out_whether_shown() noexcept {
  bool is_wanted = false;
  try {
    is_wanted = environment::shows_operations() && has_annotations();
  } catch (const std::exception&) {
  }
  Shown unknown = Shown::unknown;
  shown.compare_exchange_strong(unknown, is_wanted ? Shown::yes : Shown::no);
  return shown.load() == Shown::yes;
}

void show_operations(bool wanted) {
  detail::shown.store(wanted && has_annotations() ? detail::Shown::yes : detail::Shown::no);
}

}  // namespace quarry::backend
