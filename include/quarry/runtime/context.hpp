// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/context_flags.hpp>
#include <quarry/base/context_limit.hpp>
#include <quarry/base/kernel_function.hpp>
#include <quarry/runtime/device.hpp>

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace quarry {

/// A handle of a device's context. Every Context of a GPU is that of its primary context, in which
/// all arrays, streams, events and modules of the process are, and which the CUDA runtime and other
/// libraries share: contexts of one GPU have the same memory, limits and flags, and what is made
/// while one is current may be used and freed at any time, on any thread, whatever is current then.
/// Equal if they are of the same device. Of the CPU device a Context has no limits and no flags.
class Context {
 public:
  /// Creates nothing yet.
  explicit Context(const Device& device) : device_(device) {}
  const Device& device() const { return device_; }  ///< that it belongs to
  /// The device of the thread's current context.
  static Device get_device() { return get_current_device(); }

  ///@{
  /// As the members of Device.
  MemoryInfo get_memory_info() const { return device_.memory_info(); }
  bool can_access_peer(const Device& other) const { return device_.can_access_peer(other); }
  void synchronize() const { device_.synchronize(); }
  void reset() const { device_.reset(); }
  void enable_peer_access(const Device& peer) const { device_.enable_peer_access(peer); }
  void disable_peer_access(const Device& peer) const { device_.disable_peer_access(peer); }
  void enable_peer_access(const Context& peer) const { enable_peer_access(peer.device()); }
  void disable_peer_access(const Context& peer) const { disable_peer_access(peer.device()); }
  ///@}

  /// Makes it current for the thread, on top of the thread's stack of contexts: its device becomes
  /// the current device, and on a GPU the CUDA context becomes current for what the program and
  /// other libraries call themselves. Creates the context if necessary. Throws BackendUnavailable
  /// if that fails, LogicError after detach().
  void push() const;
  /// Ends the latest push() of the thread; what was current before is current again. Throws
  /// LogicError, and changes nothing, if that was not a push of this context, if a DeviceGuard that
  /// was made later is alive, or if other code has made another CUDA context current.
  void pop() const;
  /// Ends the latest push() of the thread, and returns its context. Throws as pop().
  static Context pop_current();
  /// Ends a handle of make_context() or retain_primary_context() and its copies: leaves the stack
  /// if it was pushed last, waits for the device, and returns cached memory to it. What is alive on
  /// the device stays valid, and so does its context, since others may use it: reset() destroys it.
  /// Throws LogicError for a second time, and for a handle that was made in another way.
  void detach();

  ///@{
  /// Of all kernels in the context, until it is reset. The driver may round a limit up. Limits of
  /// what kernels allocate and print can be set only before such a kernel is launched. Throw
  /// LogicError for a value or a limit that the driver refuses or the device does not have, on the
  /// CPU always; MemoryError if there is no memory for it.
  void set_limit(ContextLimit limit, std::size_t value) const;
  std::size_t get_limit(ContextLimit limit) const;
  ///@}
  ///@{
  /// Of kernels that have no configuration of their own. Throw LogicError on the CPU.
  void set_cache_config(CacheConfig config) const;
  CacheConfig get_cache_config() const;
  ///@}
  /// The version of the driver's interface with which the context works: 3020. Throws LogicError on
  /// the CPU.
  int get_api_version() const;
  /// Those that are set, without creating the context; sched_auto on the CPU.
  ContextFlags flags() const;
  /// The CUcontext, created if necessary, for the program's own calls of the driver; it belongs to
  /// the library. nullptr on the CPU.
  void* handle() const;

  /// Whether both are of the same device.
  friend bool operator==(const Context& a, const Context& b) { return a.device_ == b.device_; }

 private:
  friend class Device;
  struct Share;
  void require_attached() const;

  Device device_;
  std::shared_ptr<Share> share_;  ///< of the copies of one handle; none if there is nothing to end
};

/// The context of the current device.
Context current_context();
/// Makes GPU `id` current for the thread, as select_device(), and creates its context if necessary.
Context current_context(int id);
/// The context of the current device, created now if necessary, so that its cost and its errors
/// occur here.
Context require_context();

namespace detail {
/// Looks whether a function leaves the thread's current device, CUDA context and stack of contexts
/// as they were.
class ContextCheck {
 public:
  ContextCheck();                 ///< needs a context, as require_context()
  ~ContextCheck() { restore(); }  ///< the device that was current is current again
  void end();                     ///< throws LogicError if there was a change
  ContextCheck(const ContextCheck&) = delete;
  ContextCheck& operator=(const ContextCheck&) = delete;

 private:
  bool restore() noexcept;
  Device device_;
  void* context_;
  std::size_t depth_;
};

/// What require_context(f) returns.
template <class F>
class WithContext {
 public:
  explicit WithContext(F f) : f_(std::move(f)) {}  ///< of this function
  ///@{
  /// Calls it.
  template <class... A>
  std::invoke_result_t<F&, A...> operator()(A&&... arguments) {
    return call(f_, std::forward<A>(arguments)...);
  }
  template <class... A>
  std::invoke_result_t<const F&, A...> operator()(A&&... arguments) const {
    return call(f_, std::forward<A>(arguments)...);
  }
  ///@}

 private:
  template <class G, class... A>
  static std::invoke_result_t<G&, A...> call(G& f, A&&... arguments) {
    using R = std::invoke_result_t<G&, A...>;
    const auto invoke = [&]() -> R {
      return std::apply(f, std::forward_as_tuple(std::forward<A>(arguments)...));
    };
    ContextCheck check;
    if constexpr (std::is_void_v<R>) {
      invoke();
      check.end();
    } else if constexpr (std::is_reference_v<R>) {
      R result = invoke();
      check.end();
      return static_cast<R>(result);
    } else {
      R result = invoke();
      check.end();
      return result;
    }
  }

  F f_;
};
}  // namespace detail

/// A function that calls `f` with its arguments, with a context: creates it before the call if
/// necessary. `f` may not switch: if another device, or another CUDA context, is current for the
/// thread when `f` returns, or contexts were pushed and not popped, the device that was current is
/// made current again and LogicError is thrown.
template <class F>
auto require_context(F f) {
  return detail::WithContext<F>(std::move(f));
}

/// What PyCUDA's autoinit and autoprimaryctx have.
struct DefaultContext {
  Device device;    ///< of the process
  Context context;  ///< of that device, made current for the thread of the first call
};
/// A context of the default device (see get_current_device), made current for the thread. Throws
/// BackendUnavailable if no variable and no file names a device and no GPU can be used, or if the
/// GPU that one names is missing, busy or unusable: never takes the CPU unasked.
Context make_default_context();
/// make_default_context() for the process, at the first call; throws again if that has failed.
const DefaultContext& autoinit();
/// The same as autoinit(), since every context is a primary one.
const DefaultContext& autoprimaryctx();

/// Waits for all work on the current device.
void synchronize();
/// Ends the thread's use of devices: waits for every device that it has used, returns cached memory
/// to them, removes all contexts from the thread's stack, and makes the default device current
/// again. In the main thread it also releases the context of each of these GPUs on which no object
/// of the library is alive; then no other thread may be using that GPU. Arrays stay valid. Throws
/// the first error of a device, after all are closed.
void close();

}  // namespace quarry
