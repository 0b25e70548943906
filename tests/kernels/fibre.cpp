// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/fibre.hpp"

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#define QUARRY_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QUARRY_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define QUARRY_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define QUARRY_THREAD_SANITIZER
#endif
#endif
#if !defined(QUARRY_ADDRESS_SANITIZER) && !defined(QUARRY_THREAD_SANITIZER)
#define QUARRY_FIBRE_JUMPS
#endif
#ifdef QUARRY_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef QUARRY_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace quarry::test {

/// A stack is entered by its context once, and by jumps from then on: swapcontext() asks the kernel
/// for the mask of signals every time. The sanitizers are told of every change of the stack, and
/// know contexts alone.
struct Fibre::State {
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  std::unique_ptr<std::byte[]> stack{new std::byte[stack_bytes]};
  ucontext_t inside, outside;
#ifdef QUARRY_FIBRE_JUMPS
  jmp_buf jump_inside, jump_outside;
  bool has_begun = false;
#endif
  const std::function<void()>* function = nullptr;
  bool is_done = true;
#ifdef QUARRY_ADDRESS_SANITIZER
  void *fake_inside = nullptr, *fake_outside = nullptr;
  const void* outer_stack = nullptr;
  std::size_t outer_bytes = 0;
#endif
#ifdef QUARRY_THREAD_SANITIZER
  void *tsan_inside = __tsan_create_fiber(0), *tsan_outside = nullptr;
  ~State() { __tsan_destroy_fiber(tsan_inside); }
#endif

  void to_inside() {
#ifdef QUARRY_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&fake_outside, stack.get(), stack_bytes);
#endif
#ifdef QUARRY_THREAD_SANITIZER
    tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_inside, 0);
#endif
    swap_to_inside();
#ifdef QUARRY_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(fake_outside, nullptr, nullptr);
#endif
  }
  void to_outside() {
#ifdef QUARRY_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&fake_inside, outer_stack, outer_bytes);
#endif
#ifdef QUARRY_THREAD_SANITIZER
    __tsan_switch_to_fiber(tsan_outside, 0);
#endif
    swap_to_outside();
    arrived();
  }
#ifdef QUARRY_FIBRE_JUMPS
  void swap_to_inside() {
    if (_setjmp(jump_outside) != 0) return;
    if (has_begun) _longjmp(jump_inside, 1);
    has_begun = true;
    setcontext(&inside);
  }
  void swap_to_outside() {
    if (_setjmp(jump_inside) == 0) _longjmp(jump_outside, 1);
  }
#else
  void swap_to_inside() { swapcontext(&outside, &inside); }
  void swap_to_outside() { swapcontext(&inside, &outside); }
#endif
  void arrived() {
#ifdef QUARRY_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(fake_inside, &outer_stack, &outer_bytes);
#endif
  }
  /// One function after another, for ever: the stack is made once.
  void work() {
    arrived();
    while (true) {
      (*function)();
      is_done = true;
      to_outside();
    }
  }
};

namespace {
/// makecontext passes ints.
template <class State>
void begin(unsigned high, unsigned low) {
  reinterpret_cast<State*>(std::uintptr_t{high} << 32 | low)->work();
}
}  // namespace

Fibre::Fibre() : state_(std::make_unique<State>()) {
  getcontext(&state_->inside);
  state_->inside.uc_stack.ss_sp = state_->stack.get();
  state_->inside.uc_stack.ss_size = State::stack_bytes;
  state_->inside.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(state_.get());
  makecontext(&state_->inside, reinterpret_cast<void (*)()>(begin<State>), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
}

Fibre::~Fibre() = default;

void Fibre::start(const std::function<void()>& function) {
  state_->function = &function;
  state_->is_done = false;
}
void Fibre::enter() { state_->to_inside(); }
void Fibre::leave() { state_->to_outside(); }
bool Fibre::is_done() const { return state_->is_done; }

}  // namespace quarry::test
