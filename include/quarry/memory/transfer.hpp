// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/dtype.hpp>
#include <quarry/base/layout.hpp>
#include <quarry/memory/buffer.hpp>
#include <quarry/memory/host_array.hpp>
#include <quarry/memory/pool.hpp>

#include <concepts>
#include <span>
#include <type_traits>

namespace quarry {

namespace kernels {
struct program;
}

/// A non-owning view of device memory as an array.
struct DeviceRef {
  std::byte* data;  ///< element (0, 0, ...)
  DType dtype;      ///< of the elements
  Layout layout;    ///< shape and strides
  Buffer* buffer;   ///< that owns the memory
};

///@{
/// Copies between arrays of the same shape, in any layout; only elements of the destination are
/// written. `convert` is the program of one input that makes elements of the destination's dtype
/// from those of the source; without it the dtypes must agree. Throw ShapeError, DTypeError with
/// both sides in the text, AliasError for a destination whose elements share memory, LogicError for
/// host memory at no address. With `blocking` they return when the copy is done. Without it they
/// never wait for `stream`: pageable host memory of an upload may be reused on return, page-locked
/// memory when the copy is done; the host memory of a download must live until then, except this
/// library's arrays, which may be dropped. If host memory and array overlap, the result is as with
/// a temporary, and a download waits.
void upload(const DeviceRef& to, const HostRef& from, const Stream& stream, bool blocking,
            const kernels::program* convert = nullptr);
void download(const HostRef& to, const DeviceRef& from, const Stream& stream, bool blocking,
              const kernels::program* convert = nullptr);
///@}
/// Also between devices; the source broadcasts to the destination's shape. On overlap the result is
/// as with a temporary. Queued in `stream`, a stream of the destination's device.
void copy_elements(const DeviceRef& to, const DeviceRef& from, const Stream& stream,
                   const kernels::program* convert = nullptr);
/// Every element becomes the one at `value` (host memory, of the array's dtype). Queued in
/// `stream`.
void fill_elements(const DeviceRef& to, const void* value, const Stream& stream);

/// Measures for a few milliseconds from which size on staged copies are faster on this machine, and
/// sets the thresholds of copies; without it constants are used. Does nothing for the CPU device.
void calibrate_transfers(const Device& device = {});

}  // namespace quarry
