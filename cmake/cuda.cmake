# SPDX-License-Identifier: BSD-3-Clause
# Sets QUARRY_HAS_CUDA and QUARRY_CUDA_INCLUDE_DIRS. Only two headers of the toolkit are used: the driver and NVRTC are
# loaded at run time, so what is built here runs on a machine without either. (CMake's own FindCUDAToolkit wants more
# of the toolkit than that, and up to CMake 3.26 it fails on some installations of CUDA 13.)

set(QUARRY_HAS_CUDA OFF)
if(NOT QUARRY_CUDA STREQUAL "OFF")
  find_program(QUARRY_NVCC nvcc HINTS ${CUDAToolkit_ROOT}/bin PATHS /usr/local/cuda/bin)  # for a test
  mark_as_advanced(QUARRY_NVCC)
  if(QUARRY_NVCC)
    file(REAL_PATH ${QUARRY_NVCC} nvcc)
    cmake_path(GET nvcc PARENT_PATH nvcc_folder)
  endif()
  set(places HINTS ${CUDAToolkit_ROOT} ENV CUDA_HOME ENV CUDA_PATH ${nvcc_folder}/.. PATHS /usr/local/cuda
    PATH_SUFFIXES include targets/${CMAKE_SYSTEM_PROCESSOR}-linux/include)
  find_path(QUARRY_CUDA_H_DIR cuda.h ${places})
  find_path(QUARRY_NVRTC_H_DIR nvrtc.h ${places})
  find_library(QUARRY_NVRTC_LIBRARY nvrtc HINTS ${QUARRY_NVRTC_H_DIR}/.. PATH_SUFFIXES lib64 lib)  # for a test
  mark_as_advanced(QUARRY_CUDA_H_DIR QUARRY_NVRTC_H_DIR QUARRY_NVRTC_LIBRARY)
  if(QUARRY_CUDA_H_DIR AND QUARRY_NVRTC_H_DIR)
    set(QUARRY_HAS_CUDA ON)
    set(QUARRY_CUDA_INCLUDE_DIRS ${QUARRY_CUDA_H_DIR} ${QUARRY_NVRTC_H_DIR})
    list(REMOVE_DUPLICATES QUARRY_CUDA_INCLUDE_DIRS)
  endif()
endif()

if(QUARRY_HAS_CUDA)
  message(STATUS "CUDA backend: on, with the headers in ${QUARRY_CUDA_INCLUDE_DIRS}")
elseif(QUARRY_CUDA STREQUAL "OFF")
  message(STATUS "CUDA backend: off (QUARRY_CUDA=OFF), the CPU-only library is built")
elseif(QUARRY_CUDA STREQUAL "AUTO")
  message(STATUS "CUDA backend: no CUDA toolkit found, the CPU-only library is built")
else()
  message(FATAL_ERROR "QUARRY_CUDA=${QUARRY_CUDA}, but no CUDA toolkit with cuda.h and nvrtc.h was found")
endif()
