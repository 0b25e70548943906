// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>

/// Results that belong to a device, computed once: modules, functions, tables in device memory.
///
///     auto kernel = qy::context_dependent_memoize([](int unroll) {
///       return qy::compile(source_for(unroll)).function("step");
///     });
///     kernel(4).launch({.grid = 10}, a);  // compiled by the first call on each GPU
///
namespace quarry {

namespace detail {

/// The results of one memoized function.
class ContextCache {
 public:
  ContextCache() = default;
  virtual ~ContextCache() = default;
  ContextCache(const ContextCache&) = delete;
  ContextCache& operator=(const ContextCache&) = delete;
  /// Takes out the results for `device`, or all for nullptr, for the caller to destroy.
  virtual std::any take(const backend::Device* device) = 0;
};

/// Has clear_context_caches() know it while it lives.
void add_context_cache(std::weak_ptr<ContextCache> cache);
/// An argument as it is kept: a text by its characters, not by its address.
template <class A>
auto kept_argument(const A& argument) {
  if constexpr (std::is_convertible_v<const A&, std::string_view>) {
    return std::string(std::string_view(argument));
  } else {
    return std::decay_t<const A&>(argument);
  }
}

/// The calling thread's device, by which results are kept.
const backend::Device* current_cache_key();

/// The results by device, types of the arguments, and arguments. A result is computed with the lock
/// of its entry, so that other results can be asked for meanwhile.
template <class F>
class MemoizedResults final : public ContextCache {
 public:
  explicit MemoizedResults(F f) : f_(std::move(f)) {}

  template <class... A>
  auto get(const A&... arguments) {
    using Result = std::decay_t<std::invoke_result_t<F&, const A&...>>;
    const auto entry = entry_of<Result>(arguments...);
    const std::lock_guard lock(entry->mutex);
    if (!entry->value) entry->value.emplace(std::invoke(f_, arguments...));
    return *entry->value;
  }

  std::any take(const backend::Device* device) override {
    std::map<const backend::Device*, OfTypes> taken;
    const std::lock_guard lock(mutex_);
    if (!device) {
      taken.swap(results_);
    } else if (auto node = results_.extract(device)) {
      taken.insert(std::move(node));
    }
    return taken;
  }

 private:
  template <class Result>
  struct Entry {
    std::recursive_mutex mutex;  // of a function that calls itself
    std::optional<Result> value;
  };
  using OfTypes = std::map<std::type_index, std::any>;

  template <class Result, class... A>
  std::shared_ptr<Entry<Result>> entry_of(const A&... arguments) {
    using Key = std::tuple<A...>;
    using Entries = std::map<Key, std::shared_ptr<Entry<Result>>>;
    const backend::Device* const device = current_cache_key();
    const std::lock_guard lock(mutex_);
    std::any& any = results_[device][std::type_index(typeid(Key))];
    if (!any.has_value()) any.emplace<Entries>();
    auto& entry = std::any_cast<Entries&>(any)[Key(arguments...)];
    if (!entry) entry = std::make_shared<Entry<Result>>();
    return entry;
  }

  F f_;
  std::mutex mutex_;
  std::map<const backend::Device*, OfTypes> results_;
};

}  // namespace detail

/// A function whose results are kept; see context_dependent_memoize(). Copies share the results.
template <class F>
class Memoized {
 public:
  /// Calls nothing yet.
  explicit Memoized(F f) : results_(std::make_shared<detail::MemoizedResults<F>>(std::move(f))) {
    detail::add_context_cache(results_);
  }
  /// The result for the current device and these arguments, copied. What the function throws is
  /// thrown, and the next call calls it again.
  template <class... A>
  auto operator()(const A&... arguments) const {
    return results_->get(detail::kept_argument(arguments)...);
  }

 private:
  std::shared_ptr<detail::MemoizedResults<F>> results_;
};

/// `f`, called once for each device and each value of the arguments, which are copied and compared
/// by `<` within their own types (`const char*` becomes std::string). Its results are kept until
/// clear_context_caches(), close(), or the reset of the device. Any thread can call it: threads
/// that ask for one result wait for it, and `f` may run in several at a time for different ones.
template <class F>
auto context_dependent_memoize(F f) {
  return Memoized<F>(std::move(f));
}

///@{
/// Destroys the results of all functions of context_dependent_memoize(): of all devices, or of one.
void clear_context_caches();
void clear_context_caches(const Device& device);
///@}

}  // namespace quarry
