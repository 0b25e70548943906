// SPDX-License-Identifier: BSD-3-Clause
#include <quarry/memory/tracking.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <ostream>
#include <unordered_map>

namespace quarry {

// --- stacks --------------------------------------------------------------------------------------

CallStack CallStack::here() {
  std::array<void*, 48> addresses;
  const int n = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  CallStack stack;
  if (n > 1) stack.addresses.assign(addresses.begin() + 1, addresses.begin() + n);
  return stack;
}

namespace {

std::string demangle(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

std::string describe(void* address) {
  Dl_info info{};
  if (!::dladdr(address, &info) || !info.dli_fname) return fmt::format("{}", address);
  const auto offset = static_cast<char*>(address) - static_cast<char*>(info.dli_fbase);
  const std::string function = info.dli_sname ? demangle(info.dli_sname) : "?";
  return fmt::format("{} in {} +{:#x}", function, info.dli_fname, offset);
}

}  // namespace

std::string to_string(const CallStack& stack) {
  std::string text;
  for (void* const address : stack.addresses) text += fmt::format("    {}\n", describe(address));
  return text;
}

std::string to_string(const TrackedAllocation& a) {
  std::string text =
      fmt::format("#{}: {} bytes at {} of stream {:#x}", a.number, a.bytes, a.memory, a.stream);
  if (!a.stack.empty()) text += ", allocated by\n" + to_string(a.stack);
  return text;
}

// --- the adaptor ---------------------------------------------------------------------------------

struct Tracking::State {
  /// Returns false if it is already recorded.
  bool add(TrackedAllocation allocation) {
    const std::lock_guard lock(mutex);
    allocation.number = ++count;
    return live.try_emplace(allocation.memory, std::move(allocation)).second;
  }
  std::optional<TrackedAllocation> take(void* memory) {
    const std::lock_guard lock(mutex);
    const auto node = live.extract(memory);
    return node ? std::optional(std::move(node.mapped())) : std::nullopt;
  }
  template <class F>
  void tell(void* memory, F&& message) noexcept try {
    const TrackingError error{message(), memory, has_stacks() ? CallStack::here() : CallStack()};
    detail::Callable<void(const TrackingError&)> call;
    {
      const std::lock_guard lock(mutex);
      errors.push_back(error);
      call = handler;
    }
    if (call) call(error);
  } catch (...) {  // cannot be reported
  }
  bool has_stacks() {
    const std::lock_guard lock(mutex);
    return stacks;
  }

  std::mutex mutex;
  bool stacks = false;
  std::uint64_t count = 0;
  std::unordered_map<void*, TrackedAllocation> live;
  std::vector<TrackingError> errors;
  detail::Callable<void(const TrackingError&)> handler;
};

Tracking::Tracking(Resource upstream, bool with_stacks)
    : Adaptor(std::move(upstream)), state_(std::make_shared<State>()) {
  state_->stacks = with_stacks;
}

void* Tracking::allocate(const Stream& stream, std::size_t bytes, std::size_t alignment) const {
  TrackedAllocation entry{0, nullptr, bytes, alignment, stream.handle(), {}};
  if (state_->has_stacks()) entry.stack = CallStack::here();
  void* const memory = upstream().allocate(stream, bytes, alignment);
  if (!memory) return memory;
  entry.memory = memory;
  bool is_new = false;
  try {
    is_new = state_->add(std::move(entry));
  } catch (...) {
    upstream().deallocate(stream, memory, bytes, alignment);
    throw;
  }
  require<LogicError>(is_new, [&] {
    return fmt::format("{} returned {}, which has not been freed", upstream().name(), memory);
  });
  return memory;
}

void Tracking::deallocate(const Stream& stream, std::span<const Stream> others, void* memory,
                          std::size_t bytes, std::size_t alignment) const noexcept {
  if (!memory) return upstream().deallocate(stream, others, memory, bytes, alignment);
  const auto entry = state_->take(memory);
  if (!entry) {
    return state_->tell(memory, [&] {
      return fmt::format("{} bytes at {} are freed, but not allocated", bytes, memory);
    });
  }
  if (entry->bytes != bytes || entry->alignment != alignment) {
    state_->tell(memory, [&] {
      return fmt::format("#{} at {} has {} bytes (alignment {}), freed as {} (alignment {})",
                         entry->number, memory, entry->bytes, entry->alignment, bytes, alignment);
    });
  }
  upstream().deallocate(stream, others, memory, entry->bytes, entry->alignment);
}

void Tracking::set_stacks(bool on) const {
  const std::lock_guard lock(state_->mutex);
  state_->stacks = on;
}

std::vector<TrackedAllocation> Tracking::outstanding() const {
  std::vector<TrackedAllocation> all;
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [memory, entry] : state_->live) all.push_back(entry);
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  return all;
}

std::size_t Tracking::outstanding_bytes() const {
  const std::lock_guard lock(state_->mutex);
  std::size_t bytes = 0;
  for (const auto& [memory, entry] : state_->live) bytes += entry.bytes;
  return bytes;
}

std::vector<TrackingError> Tracking::errors() const {
  const std::lock_guard lock(state_->mutex);
  return state_->errors;
}

void Tracking::on_error(detail::Callable<void(const TrackingError&)> handler) const {
  const std::lock_guard lock(state_->mutex);
  state_->handler = std::move(handler);
}

void Tracking::report(std::ostream& out) const {
  const auto live = outstanding();
  const auto wrong = errors();
  out << fmt::format("{}: {} allocations outstanding, {} errors\n", name(), live.size(),
                     wrong.size());
  for (const auto& allocation : live) out << "  " << to_string(allocation) << '\n';
  for (const auto& error : wrong) {
    out << "  error: " << error.message << '\n' << to_string(error.stack);
  }
}

}  // namespace quarry
