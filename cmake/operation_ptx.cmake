# SPDX-License-Identifier: BSD-3-Clause
# The operations as PTX, of which kernels are put together at run time without NVRTC. NVRTC makes it here, once, of the
# headers that it compiles otherwise at run time; without it the table is empty, and all kernels are compiled by NVRTC.

set(operation_output ${PROJECT_BINARY_DIR}/operation_ptx.cpp)
if(QUARRY_NVRTC_LIBRARY)
  add_executable(operation_ptx tools/operation_ptx.cpp)
  quarry_own_code(operation_ptx)
  target_compile_features(operation_ptx PRIVATE cxx_std_20)
  target_compile_options(operation_ptx PRIVATE -O0 -fno-sanitize=all)  # it waits for NVRTC, which leaks
  target_link_options(operation_ptx PRIVATE -fno-sanitize=all)
  target_include_directories(operation_ptx PRIVATE include ${PROJECT_BINARY_DIR}/include)
  target_include_directories(operation_ptx SYSTEM PRIVATE ${QUARRY_CUDA_INCLUDE_DIRS})
  target_link_libraries(operation_ptx PRIVATE ${QUARRY_NVRTC_LIBRARY})
  add_custom_command(OUTPUT ${operation_output}
    COMMAND operation_ptx ${operation_output} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include
    DEPENDS operation_ptx ${shared_headers}
    COMMENT "Translating the operations to PTX"
    VERBATIM)
else()
  message(STATUS "NVRTC was not found: the library compiles every kernel with that of the machine it runs on")
  file(CONFIGURE OUTPUT ${operation_output} CONTENT "#include \"backend/cuda/ptx/operations.hpp\"
namespace quarry::backend::cuda {
std::span<const OperationPtx> operation_table() { return {}; }
}  // namespace quarry::backend::cuda
")
endif()
target_sources(quarry_objects PRIVATE ${operation_output})
