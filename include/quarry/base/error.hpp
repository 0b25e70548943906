// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/base/standard.hpp>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace quarry {

/// Base of every exception of Quarry. After a throw the destination of the failed call and the
/// library stay usable.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The memory requested and available, in bytes; 0 where unknown.
struct MemoryReport {
  std::size_t requested = 0;     ///< by the call that failed
  std::size_t live = 0;          ///< handed out by the resource
  std::size_t cached = 0;        ///< free, kept by the resource
  std::size_t largest_free = 0;  ///< the largest of the cached pieces
  std::size_t limit = 0;         ///< of the resource
  std::size_t device_free = 0;   ///< free on the device
  std::size_t device_total = 0;  ///< of the device, in all
};

/// Memory could not be allocated (device, pinned or host).
class MemoryError : public Error {
 public:
  using Error::Error;
  /// `where` says which resource of which device ("pool(device) on cuda:0"); the text has all the
  /// figures that are known.
  MemoryError(const std::string& where, const MemoryReport& report);

  /// Zeros if the error has a text only.
  const MemoryReport& report() const noexcept { return report_; }

 private:
  MemoryReport report_;
};

/// The call is invalid; repeating it cannot succeed.
class LogicError : public Error {
 public:
  using Error::Error;
};

/// A kernel could not be launched, or failed while it ran (see KernelFault).
class LaunchError : public virtual Error {
 public:
  /// `text` is what().
  explicit LaunchError(const std::string& text) : Error(text) {}
};

/// Something outside the program failed: a device, a driver, a file.
class RuntimeError : public virtual Error {
 public:
  /// `text` is what().
  explicit RuntimeError(const std::string& text) : Error(text) {}
};

/// A kernel's source did not compile. `what()` is the message and the compiler's log.
class CompileError : public Error {
 public:
  /// `source`, `log` and `options` are kept as they are given.
  CompileError(const std::string& message, std::string source, std::string log,
               std::string options);

  const std::string& message() const noexcept { return message_; }  ///< without the log
  const std::string& source() const noexcept { return source_; }    ///< that was compiled
  const std::string& log() const noexcept { return log_; }          ///< what the compiler wrote
  const std::string& options() const noexcept { return options_; }  ///< with spaces between them

 private:
  std::string message_;
  std::string source_;
  std::string log_;
  std::string options_;
};

/// Extents, strides or axes that do not fit together.
class ShapeError : public LogicError {
 public:
  using LogicError::LogicError;
};

/// A product of extents, a byte count or an offset does not fit in 63 bits.
class SizeOverflow : public ShapeError {
 public:
  using ShapeError::ShapeError;
};

/// An element type the operation does not take.
class DTypeError : public LogicError {
 public:
  using LogicError::LogicError;
};

/// An index or a slice outside its axis.
class IndexError : public LogicError {
 public:
  using LogicError::LogicError;
};

/// A write whose result would depend on the order in which shared elements are visited.
class AliasError : public LogicError {
 public:
  using LogicError::LogicError;
};

/// A file or a buffer that violates its format.
class FormatError : public RuntimeError {
 public:
  /// `text` is what().
  explicit FormatError(const std::string& text) : Error(text), RuntimeError(text) {}
};

/// Reading or writing a file failed.
class IoError : public RuntimeError {
 public:
  /// `text` is what().
  explicit IoError(const std::string& text) : Error(text), RuntimeError(text) {}
};

/// The backend asked for cannot be used here: no driver, no device, not built in.
class BackendUnavailable : public RuntimeError {
 public:
  /// `text` is what().
  explicit BackendUnavailable(const std::string& text) : Error(text), RuntimeError(text) {}
};

/// A sticky device error: the device's context is lost for the rest of the process. Every later
/// call on the device throws this with the first cause.
class DeviceLost : public RuntimeError {
 public:
  /// `text` is what().
  explicit DeviceLost(const std::string& text) : Error(text), RuntimeError(text) {}
};

/// The first cause was a kernel that failed while it ran: an illegal or misaligned address, an
/// assert, a timeout. Thrown by the first call that detects it, and by every later one.
class KernelFault : public LaunchError, public DeviceLost {
 public:
  /// `text` is what().
  explicit KernelFault(const std::string& text)
      : Error(text), LaunchError(text), DeviceLost(text) {}
};

/// Throws `E` unless `condition` holds. `message` is a string, or a callable that returns one and
/// runs only on failure; prefer the callable wherever the message carries values.
///     require<ShapeError>(s.size() == 2, [&] { return "need a matrix, got " + to_string(s); });
template <class E, class Message>
constexpr void require(bool condition, Message&& message) {
  if (condition) [[likely]]
    return;
  if constexpr (requires { message(); })
    throw E(message());
  else
    throw E(message);
}

}  // namespace quarry
