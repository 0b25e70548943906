// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace quarry::detail {

/// A function that a caller gives, or none, as std::function: <functional> has much else, which
/// every user's compilation would pay for. Copies share the function.
template <class Signature>
class Callable;
template <class R, class... A>
class Callable<R(A...)> {
 public:
  ///@{
  /// None.
  Callable() = default;
  Callable(std::nullptr_t) {}
  ///@}
  /// None if `f` is an empty std::function or a null pointer.
  template <class F>
  requires(!std::is_same_v<F, Callable> && std::is_invocable_r_v<R, F&, A...>) Callable(F f) {
    if constexpr (std::is_assignable_v<F&, std::nullptr_t>) {
      if (!f) return;
    }
    function_ = std::make_shared<F>(std::move(f));
    call_ = [](void* function, A... arguments) {
      return static_cast<R>((*static_cast<F*>(function))(std::forward<A>(arguments)...));
    };
  }
  explicit operator bool() const { return function_ != nullptr; }  ///< whether there is one
  R operator()(A... arguments) const {
    return call_(function_.get(), std::forward<A>(arguments)...);
  }

 private:
  std::shared_ptr<void> function_;
  R (*call_)(void*, A...) = nullptr;
};

}  // namespace quarry::detail
