# SPDX-License-Identifier: BSD-3-Clause
# Sets QUARRY_HAS_CUDA. Only the toolkit's headers are used: the driver and NVRTC are loaded at run time, so what
# is built here runs on a machine without either.

set(QUARRY_HAS_CUDA OFF)
if(NOT QUARRY_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  set(QUARRY_HAS_CUDA ON)
  foreach(header cuda.h nvrtc.h)
    find_file(QUARRY_${header} ${header} HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
    if(NOT QUARRY_${header})
      set(QUARRY_HAS_CUDA OFF)
    endif()
  endforeach()
endif()

if(QUARRY_HAS_CUDA)
  message(STATUS "CUDA backend: headers of CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_INCLUDE_DIRS}")
elseif(QUARRY_CUDA STREQUAL "OFF")
  message(STATUS "CUDA backend: off (QUARRY_CUDA=OFF), the CPU-only library is built")
elseif(QUARRY_CUDA STREQUAL "AUTO")
  message(STATUS "CUDA backend: no CUDA toolkit found, the CPU-only library is built")
else()
  message(FATAL_ERROR "QUARRY_CUDA=${QUARRY_CUDA}, but no CUDA toolkit with cuda.h and nvrtc.h was found")
endif()
