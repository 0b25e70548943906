// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/array/creation.hpp>
#include <quarry/array/ndarray.hpp>
#include <quarry/memory/device_pointer.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

/// What a kernel takes: numbers and structs by value, arrays and device memory by address, arrays
/// with shape and strides through view_of() (array/device_view.hpp), textures and surfaces by their
/// handles, host arrays through In, Out and InOut, and whatever an ArgumentHandler stands for.
namespace quarry {

/// A host array for one launch, copied to the device before it. A launch with a host array returns
/// when all is done. Refers to the host array, as Out and InOut do.
template <class H>
struct In {
  const H& host;  ///< a HostArray
  /// Copies nothing yet.
  explicit In(const H& array) : host(array) {}
};
/// A host array that is copied from the device after the launch.
template <class H>
struct Out {
  H& host;  ///< a writable HostArray
  /// Copies nothing yet.
  explicit Out(H& array) : host(array) {}
};
/// A host array that is copied to the device before the launch and back after it.
template <class H>
struct InOut {
  H& host;  ///< a writable HostArray
  /// Copies nothing yet.
  explicit InOut(H& array) : host(array) {}
};

/// The base of classes that say how a kernel takes them, as PyCUDA's ArgumentHandler:
///
///     struct Table : qy::ArgumentHandler {
///       auto get_device_alloc() const { return memory; }           // what the kernel gets
///       void pre_call(const qy::Stream& s) const { upload(s); }    // before the launch
///       void post_call(const qy::Stream& s) const { download(s); }  // after it
///     };
///     f.launch(config, table);
///
/// get_device_alloc() returns any argument of a kernel: an array, an allocation, a number, a
/// struct. It is called first, and what it returns is kept until the launch is queued; then
/// pre_call(), the launch, and post_call(), with the stream of the launch and for one argument
/// after the other. If one throws, what would follow is left out.
struct ArgumentHandler {
  ///@{
  /// Nothing, where a class has none of its own.
  void pre_call(const Stream&) const {}
  void post_call(const Stream&) const {}
  ///@}
  /// Whether a launch returns when all is done: what PyCUDA's handlers do. A class without a need
  /// for that has its own with `false`.
  static constexpr bool waits = true;
};

namespace detail {

/// One argument as the driver takes it, and the memory that it refers to.
struct KernelArgument {
  const void* value;  ///< its bytes
  std::size_t bytes;
  const Buffer* memory = nullptr;            ///< of an address
  const DeviceNDArrayBase* array = nullptr;  ///< of an array, whose stream counts
  bool is_written = false;                   ///< whether the kernel may write the memory
};

template <class A>
struct KernelValue {
  static_assert(std::is_trivially_copyable_v<A> && !std::is_array_v<A>,
                "a kernel takes arrays on the device, numbers and structs that can be copied byte "
                "by byte; a host array goes through In, Out or InOut, an expression through eval");
  static_assert(!Expression<A>, "a kernel takes no expression: use eval");
  A value;

  KernelValue(const A& given, const Stream&) : value(given) {}
  KernelArgument argument() const { return {&value, sizeof value}; }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

template <class A>
requires std::is_base_of_v<DeviceNDArrayBase, A>
struct KernelValue<A> {
  const A& array;
  std::byte* address;

  KernelValue(const A& given, const Stream&) : array(given), address(given.address()) {}
  KernelArgument argument() const {
    return {&address, sizeof address, array.buffer().get(), &array, !array.is_read_only()};
  }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

/// Allocations, and pointers into them.
template <class A>
requires(!std::is_base_of_v<DeviceNDArrayBase, A> &&
         (DeviceMemory<A> || std::is_same_v<A, DevicePtr>)) struct KernelValue<A> {
  std::shared_ptr<Buffer> buffer;
  void* address;

  KernelValue(const A& given, const Stream&) {
    const DevicePtr pointer(given);
    buffer = pointer.buffer();
    address = pointer.get();
  }
  KernelArgument argument() const {
    return {&address, sizeof address, buffer.get(), nullptr, true};
  }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

/// Objects of the driver that kernels take by a number of 64 bits: Texture, Surface.
template <class A>
concept KernelObject = requires(const A& object) {
  { object.handle() } -> std::same_as<std::uint64_t>;
  { object.kernel_use() } -> std::same_as<const std::shared_ptr<Buffer>&>;
};

template <KernelObject A>
struct KernelValue<A> {
  std::uint64_t handle;
  std::shared_ptr<Buffer> use;

  KernelValue(const A& given, const Stream&) : handle(given.handle()), use(given.kernel_use()) {}
  KernelArgument argument() const { return {&handle, sizeof handle, use.get()}; }
  void finish(const Stream&) const {}
  static constexpr bool waits = false;
};

/// A host array: `reads` before the kernel, `writes` after it.
template <class H, bool reads, bool writes>
struct HostArgument {
  H& host;
  DeviceNDArray<host_value_t<H>> array;
  std::byte* address;

  template <class Given>
  HostArgument(const Given& given, const Stream& stream)
      : host(given.host), array(made(host, stream)), address(array.address()) {}
  KernelArgument argument() const {
    return {&address, sizeof address, array.buffer().get(), &array, true};
  }
  void finish(const Stream& stream) const {
    if constexpr (writes) array.copy_to_host(host, stream);
  }
  static constexpr bool waits = true;

 private:
  static auto made(const H& host, const Stream& stream) {
    if constexpr (reads) {
      return to_device(host, {.stream = stream});
    } else {
      return empty_like(host, {.stream = stream});
    }
  }
};
template <class H>
struct KernelValue<In<H>> : HostArgument<const H, true, false> {
  using HostArgument<const H, true, false>::HostArgument;
};
template <class H>
struct KernelValue<Out<H>> : HostArgument<H, false, true> {
  using HostArgument<H, false, true>::HostArgument;
};
template <class H>
struct KernelValue<InOut<H>> : HostArgument<H, true, true> {
  using HostArgument<H, true, true>::HostArgument;
};

/// What a handler stands for.
template <class A>
requires std::is_base_of_v<ArgumentHandler, A>
struct KernelValue<A> {
  using Given = std::remove_cvref_t<decltype(std::declval<const A&>().get_device_alloc())>;
  const A& handler;
  Given given;
  KernelValue<Given> value;

  KernelValue(const A& argument, const Stream& stream)
      : handler(argument), given(argument.get_device_alloc()), value(given, stream) {}
  KernelValue(const KernelValue&) = delete;  // `value` refers to `given`
  KernelValue& operator=(const KernelValue&) = delete;
  KernelArgument argument() const { return value.argument(); }
  void prepare(const Stream& stream) const { handler.pre_call(stream); }
  void finish(const Stream& stream) const {
    handler.post_call(stream);
    value.finish(stream);
  }
  static constexpr bool waits = A::waits || KernelValue<Given>::waits;
};

/// What is to be done before the launch, when all arguments are there.
template <class V>
void prepare_value(const V& value, const Stream& stream) {
  if constexpr (requires { value.prepare(stream); }) value.prepare(stream);
}

template <class A>
KernelValue<A> kernel_value(const A& argument, const Stream& stream) {
  return KernelValue<A>(argument, stream);
}

/// The type that the kernel gets where it is another than the argument's.
template <class A>
struct PassedAs {
  using type = A;
};

/// The stream that an argument has, if it is an array.
template <class A>
struct StreamOfArgument {
  static const Stream* of(const A&) { return nullptr; }
};
template <class A>
requires std::is_base_of_v<DeviceNDArrayBase, A>
struct StreamOfArgument<A> {
  static const Stream* of(const A& array) { return &array.stream(); }
};

/// The stream of a launch without one of its own: that of the first array, if there is one.
inline const Stream* stream_of_arguments() { return nullptr; }
template <class A, class... More>
const Stream* stream_of_arguments(const A& first, const More&... more) {
  const Stream* const stream = StreamOfArgument<A>::of(first);
  return stream ? stream : stream_of_arguments(more...);
}

}  // namespace detail
}  // namespace quarry
