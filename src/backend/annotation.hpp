// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>

/// Ranges of host time that profilers show (NVTX), in the domain "Quarry". Without a profiler, and
/// in builds without CUDA, nothing happens.
namespace quarry::backend {

/// Whether a profiler is attached; does not change after the first call.
bool has_annotations();
/// A range of the calling thread, with a number to show beside it. Ranges nest.
void begin_annotation(const std::string& text, std::uint64_t number);
void end_annotation();

namespace detail {
/// Whether operations are shown: not known yet (the environment says it), no, yes.
enum class Shown : signed char { unknown, no, yes };
extern constinit std::atomic<Shown> shown;
bool find_out_whether_shown() noexcept;
}  // namespace detail

/// Whether operations are to be shown as ranges, and a profiler is attached. One load where not.
inline bool shows_operations() noexcept {
  const detail::Shown shown = detail::shown.load(std::memory_order_relaxed);
  return shown != detail::Shown::no &&
         (shown == detail::Shown::yes || detail::find_out_whether_shown());
}
void show_operations(bool wanted);

/// A range for the scope, if operations are shown; only then `text` is called.
class OperationRange {
 public:
  template <class Text>
  explicit OperationRange(const Text& text, std::uint64_t number = 0) noexcept
      : is_open_(shows_operations()) {
    if (!is_open_) [[likely]]
      return;
    try {
      begin_annotation(text(), number);
    } catch (const std::exception&) {  // no memory for the text
      is_open_ = false;
    }
  }
  ~OperationRange() {
    if (is_open_) [[unlikely]]
      end_annotation();
  }
  OperationRange(const OperationRange&) = delete;
  OperationRange& operator=(const OperationRange&) = delete;

 private:
  bool is_open_;
};

}  // namespace quarry::backend
