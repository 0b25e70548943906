// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/pool.hpp>

#include <concepts>
#include <type_traits>

namespace quarry {

namespace kernels {
struct program;
}

/// Host memory seen as an array; owns nothing. Strides in bytes.
struct HostRef {
  std::byte* data;
  DType dtype;
  Layout layout;
};

/// A host array with strides in elements: every xtensor container and view with memory of its own.
template <class H>
concept StridedHostArray = requires(H& h) {
  h.data();
  h.shape();
  h.strides();
}
&&!requires(H & h) { h.device(); };

/// Contiguous host memory of one dimension: std::span, std::vector, std::array, std::string.
template <class H>
concept ContiguousHostRange = !StridedHostArray<H> && requires(H & h) {
  h.data();
  { h.size() } -> std::convertible_to<std::size_t>;
}
&&!requires(H & h) { h.device(); };

template <class H>
concept HostArray = StridedHostArray<H> || ContiguousHostRange<H>;

template <HostArray H>
using host_value_t = std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<H&>().data())>>;

/// Whether elements may be written through `h.data()`.
template <class H>
concept WritableHostArray =
    HostArray<H> && !std::is_const_v<std::remove_pointer_t<decltype(std::declval<H&>().data())>>;

template <StridedHostArray H>
HostRef host_ref(H& h) {
  using T = host_value_t<H>;
  HostRef ref{nullptr, dtype_of<T>, {Shape(h.shape().begin(), h.shape().end()), {}}};
  auto* data = const_cast<T*>(h.data());
  if constexpr (requires { h.data_offset(); }) data += h.data_offset();
  ref.data = reinterpret_cast<std::byte*>(data);
  for (const auto s : h.strides()) {
    ref.layout.strides.push_back(checked_mul(static_cast<std::int64_t>(s), sizeof(T)));
  }
  return ref;
}
template <ContiguousHostRange H>
HostRef host_ref(H& h) {
  using T = host_value_t<H>;
  return {reinterpret_cast<std::byte*>(const_cast<T*>(h.data())),
          dtype_of<T>,
          {Shape{h.size()}, Strides{sizeof(T)}}};
}

/// Device memory seen as an array.
struct DeviceRef {
  std::byte* data;
  DType dtype;
  Layout layout;
  Buffer* buffer;
};

/// Copies between arrays of the same shape, in any layout; only elements of the destination are
/// written. `convert` is the program of one input that makes elements of the destination's dtype
/// from those of the source; without it the dtypes must agree. Throw ShapeError, DTypeError with
/// both sides in the text, AliasError for a destination whose elements share memory, LogicError for
/// host memory at no address. With `blocking` they return when the copy is done. Without it they
/// never wait for `stream`: pageable host memory of an upload may be reused on return, page-locked
/// memory when the stream is there; the host memory of a download must live until then, but for
/// arrays of this library, which may be dropped.
void upload(const DeviceRef& to, const HostRef& from, const Stream& stream, bool blocking,
            const kernels::program* convert = nullptr);
void download(const HostRef& to, const DeviceRef& from, const Stream& stream, bool blocking,
              const kernels::program* convert = nullptr);
/// Also between devices; the source broadcasts to the destination's shape. Overlap is as if through
/// a temporary. Queued in `stream`, a stream of the destination's device.
void copy_elements(const DeviceRef& to, const DeviceRef& from, const Stream& stream,
                   const kernels::program* convert = nullptr);
/// Every element becomes the one at `value` (host memory, of the array's dtype). Queued in
/// `stream`.
void fill_elements(const DeviceRef& to, const void* value, const Stream& stream);

/// Measures for a few milliseconds how copies to and from a GPU are carried best on this machine,
/// and uses that from then on; otherwise constants are used. Nothing happens for the CPU device.
void calibrate_transfers(const Device& device = {});

}  // namespace quarry
