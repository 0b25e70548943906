// SPDX-License-Identifier: BSD-3-Clause
#pragma once
#include <quarry/runtime/device.hpp>

/// The part of a program that a profiler records, for profilers that are told to wait for it:
/// `nsys profile --capture-range=cudaProfilerApi`, `ncu --profile-from-start off`. Without a
/// profiler, and on the CPU device, nothing happens, so that one program runs everywhere.
///
///     {
///       auto scope = qy::profiling();
///       step();
///     }
///
namespace quarry {

///@{
/// Begins and ends the recording of the context of `device`; beginning twice is beginning once.
/// Throw LogicError with a driver that has no such functions.
void profile_start(const Device& device = {});
void profile_stop(const Device& device = {});
///@}
///@{
/// PyCUDA's names.
inline void start_profiler() { profile_start(); }
inline void stop_profiler() { profile_stop(); }
///@}

/// Records for the scope, also if it ends with an exception. Scopes nest: the outermost one of a
/// device begins and ends the recording.
class [[nodiscard]] Profiling {
 public:
  /// Begins the scope. Throws what profile_start() throws.
  explicit Profiling(const Device& device = {});
  ~Profiling();
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

 private:
  Device device_;
};
/// Numba's name: auto scope = profiling();
inline Profiling profiling(const Device& device = {}) { return Profiling(device); }

}  // namespace quarry
