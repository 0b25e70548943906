// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace quarry {

/// What every exception of Quarry derives from. After a throw the destination of the failed call
/// and the library stay usable.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What was asked for and what there was, in bytes; 0 where it is not known.
struct MemoryReport {
  std::size_t requested = 0;
  std::size_t live = 0;          ///< handed out by the resource
  std::size_t cached = 0;        ///< free, kept by the resource
  std::size_t largest_free = 0;  ///< the largest of the cached pieces
  std::size_t limit = 0;
  std::size_t device_free = 0;
  std::size_t device_total = 0;
};

/// Memory could not be had (device, pinned or host).
class MemoryError : public Error {
 public:
  using Error::Error;
  /// `where` says which resource of which device ("pool(device) on cuda:0"); the text has all the
  /// figures that are known.
  MemoryError(const std::string& where, const MemoryReport& report);

  const MemoryReport& report() const noexcept { return report_; }

 private:
  MemoryReport report_;
};

/// The caller asked for something that has no meaning; asking again cannot help.
class LogicError : public Error {
 public:
  using Error::Error;
};

/// A kernel could not be launched, or failed while it ran.
class LaunchError : public Error {
 public:
  using Error::Error;
};

/// Something outside the program failed: a device, a driver, a file.
class RuntimeError : public Error {
 public:
  using Error::Error;
};

/// A kernel's source did not compile. `what()` is the message and the compiler's error output.
class CompileError : public Error {
 public:
  CompileError(const std::string& message, std::string stdout_text, std::string stderr_text,
               std::string command_line);

  const std::string& message() const noexcept { return message_; }
  const std::string& stdout_text() const noexcept { return stdout_; }
  const std::string& stderr_text() const noexcept { return stderr_; }
  const std::string& command_line() const noexcept { return command_line_; }

 private:
  std::string message_;
  std::string stdout_;
  std::string stderr_;
  std::string command_line_;
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

/// A file or a buffer that is not what its format says.
class FormatError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

/// Reading or writing a file failed.
class IoError : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

/// The backend asked for cannot be used here: no driver, no device, not built in.
class BackendUnavailable : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
};

/// A sticky device error: the device's context is lost for the rest of the process.
class DeviceLost : public RuntimeError {
 public:
  using RuntimeError::RuntimeError;
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
