// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/context_flags.hpp>
#include <quarry/base/device_attribute.hpp>
#include <quarry/base/error.hpp>
#include <quarry/base/memory_info.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quarry {

namespace backend {
class Device;
}
namespace detail {
template <class T>
struct GuardEntry;  // runtime/guard_stack.hpp
}

class Context;  // context.hpp

/// A GPU or the CPU: a small value; equal if both are the same device.
class Device {
 public:
  /// The calling thread's current device (see get_current_device).
  Device();
  /// The `id`-th GPU, as cuda().
  explicit Device(int id) : Device(cuda(id)) {}
  /// By its name, as parse(), or else by its PCI bus id.
  explicit Device(const std::string& text);
  /// The CPU as a device; always available.
  static Device cpu();
  /// The `id`-th GPU. Throws BackendUnavailable, with the reason, if CUDA cannot be used,
  /// IndexError if there are fewer GPUs.
  static Device cuda(int id = 0);
  /// "cpu", "cuda" or "cuda:1"; throws LogicError for anything else.
  static Device parse(const std::string& text);
  /// The GPU at "domain:bus:device.function", also without the domain or without the function, in
  /// hexadecimal: "0000:3b:00.0". Throws LogicError for text that is not of this form and where no
  /// GPU is, BackendUnavailable if CUDA cannot be used.
  static Device from_pci_bus_id(const std::string& text);
  static int count();  ///< of the GPUs; 0 where CUDA cannot be used

  bool is_cpu() const;                             ///< whether it is Device::cpu()
  int id() const;                                  ///< ordinal among the GPUs; 0 for the CPU
  std::string name() const;                        ///< the driver's name of the device
  std::string uuid() const;                        ///< "GPU-..." ; empty for the CPU
  std::string pci_bus_id() const;                  ///< "0000:3b:00.0"; empty for the CPU
  std::pair<int, int> compute_capability() const;  ///< {0, 0} for the CPU
  /// Bytes of memory; creates no context. Of the CPU what memory_info() says.
  std::size_t total_memory() const;
  ///@{
  /// One attribute, by one call of the driver; also by the name of an enumerator of DeviceAttribute
  /// in capital or in small letters. Throws LogicError for one that the device or its driver does
  /// not have.
  std::int64_t attribute(DeviceAttribute attribute) const;
  std::int64_t attribute(const std::string& name) const;
  ///@}
  /// All that the device and its driver have, by the names of CUdevice_attribute without prefix:
  /// MULTIPROCESSOR_COUNT, WARP_SIZE, ...
  std::map<std::string, std::int64_t> attributes() const;
  ComputeMode compute_mode() const;  ///< default_ for the CPU
  MemoryInfo memory_info() const;    ///< of this moment
  /// Whether its kernels can read and write memory of `other`.
  bool can_access_peer(const Device& other) const;
  ///@{
  /// Lets kernels of this device use memory of `peer`, or ends that; nothing where it is so
  /// already. Throws LogicError for the CPU together with a GPU, and for GPUs that cannot.
  void enable_peer_access(const Device& peer) const;
  void disable_peer_access(const Device& peer) const;
  ///@}
  /// The device's context, with these flags, made current for the thread as by Context::push().
  /// Include <quarry/runtime/context.hpp>, which says which context that is.
  Context make_context(ContextFlags flags = ContextFlags::sched_auto) const;
  /// The primary context, created now if necessary, but not made current.
  Context retain_primary_context() const;
  /// Waits for all work of the process on the device. Throws what launches of graphs on it have
  /// found (see capture()).
  void synchronize() const;
  /// Waits, frees the library's caches (also the results of context_dependent_memoize(), see
  /// memoize.hpp, on this device), and destroys the process's context on a GPU, with the
  /// objects of other libraries in it. Throws LogicError while objects of this library are alive on
  /// the device (arrays, memory of every kind, CUDA arrays, streams, events), with a list of them.
  /// After a reset by other code every call on the device throws DeviceLost.
  void reset() const;

  ///@{
  /// For the library itself.
  backend::Device& backend() const { return *backend_; }
  explicit Device(backend::Device& backend) : backend_(&backend) {}
  ///@}
  /// Whether both are the same device.
  friend bool operator==(const Device&, const Device&) = default;

 private:
  backend::Device* backend_;
};

///@{
/// "cpu" or "cuda:0".
std::string to_string(const Device& device);
std::ostream& operator<<(std::ostream& out, const Device& device);
///@}

/// Whether a GPU can be used in this process: there is a driver, a GPU, and NVRTC. Never throws.
bool is_available();
/// Empty if the driver initialised (or is absent), else its error, as "CUDA_ERROR_UNKNOWN (999)".
std::string cuda_error();
/// One sentence with the reason why no GPU can be used; empty if one can.
std::string why_unavailable();
/// Prints each GPU and what it can do, and returns whether any can be used.
bool detect(std::ostream& out);
bool detect();  ///< to std::cout
///@{
/// CUDA versions {major, minor}; {0, 0} if not found.
std::pair<int, int> driver_version();
std::pair<int, int> nvrtc_version();
///@}
/// driver_version() as the driver says it: 13000; 0 if there is no driver.
int get_driver_version();
/// The version of CUDA with which the library was built: {13, 0, 0}; zeros if without CUDA.
std::array<int, 3> get_version();

/// The GPUs of the process.
class DeviceList {
 public:
  std::size_t size() const;                   ///< 0 where CUDA cannot be used
  bool empty() const { return size() == 0; }  ///< whether there is no GPU
  /// Throws IndexError.
  Device operator[](int id) const;
  /// The current device; throws LogicError if it is not a GPU.
  Device current() const;

  /// Iterates over the GPUs in the order of their ids.
  class iterator {
   public:
    ///@{
    /// For std::iterator_traits.
    using value_type = Device;
    using difference_type = std::ptrdiff_t;
    ///@}
    iterator() = default;
    /// At GPU `id`.
    explicit iterator(int id) : id_(id) {}
    /// The current GPU.
    Device operator*() const { return Device::cuda(id_); }
    ///@{
    /// On to the next GPU.
    iterator& operator++() { return ++id_, *this; }
    iterator operator++(int) { return iterator(id_++); }
    ///@}
    /// Whether both are at the same GPU.
    friend bool operator==(const iterator&, const iterator&) = default;

   private:
    int id_ = 0;
  };
  ///@{
  /// For loops over all GPUs.
  iterator begin() const { return iterator(0); }
  iterator end() const { return iterator(static_cast<int>(size())); }
  ///@}
};
inline constexpr DeviceList gpus{};  ///< the GPUs of the process
/// Numba's name of `gpus`.
inline DeviceList list_devices() { return gpus; }

/// The thread's current device. Initially that of QUARRY_DEVICE, CUDA_DEVICE or ~/.cuda-device,
/// else the first usable GPU, else the CPU. Throws BackendUnavailable if the named device is
/// missing, busy or unusable, LogicError for text that names no device.
Device get_current_device();
/// Makes GPU `id` current for the thread and returns it.
Device select_device(int id);
/// Makes `device`, a GPU or the CPU, current for the thread.
void set_current_device(const Device& device);

/// Makes a device current for the scope. Guards may end in any order, as StreamGuards.
class DeviceGuard {
 public:
  /// Makes `device` current for this thread.
  explicit DeviceGuard(const Device& device);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  detail::GuardEntry<backend::Device*>* entry_;
};

/// Calls `f()` with `device` current and returns what it returns.
template <class F>
decltype(auto) with_device(const Device& device, F&& f) {
  const DeviceGuard guard(device);
  return std::forward<F>(f)();
}

namespace detail {
/// Called by close() and by reset(): the memory layer frees its caches of the device and returns
/// how many bytes are still held by arrays.
using TrimHook = std::size_t (*)(backend::Device& device);
void set_trim_hook(TrimHook hook);
/// Hooks of an external memory manager: for memory_info(), if `info` returns true, and before the
/// context is destroyed.
struct ManagerHooks {
  bool (*info)(backend::Device& device, MemoryInfo& info) = nullptr;
  void (*reset)(backend::Device& device) = nullptr;
};
void set_manager_hooks(const ManagerHooks& hooks);
}  // namespace detail

}  // namespace quarry

/// Of what == compares.
template <>
struct std::hash<quarry::Device> {
  /// The same for equal devices.
  std::size_t operator()(const quarry::Device& device) const noexcept {
    return std::hash<const void*>()(&device.backend());
  }
};
