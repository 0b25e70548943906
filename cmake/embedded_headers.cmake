# SPDX-License-Identifier: BSD-3-Clause
# The headers that NVRTC compiles travel in the library as strings: cmake/embed.cmake writes them to a source file
# whenever one of them has changed.

file(GLOB embedded_candidates CONFIGURE_DEPENDS
  include/quarry/kernels/*.hpp include/quarry/kernels/*.def
  include/quarry/base/*.hpp include/quarry/base/*.def)
set(embedded_output ${PROJECT_BINARY_DIR}/embedded_headers.cpp)
add_custom_command(OUTPUT ${embedded_output}
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${embedded_output}
          -D ROOTS=${PROJECT_SOURCE_DIR}/include,${PROJECT_BINARY_DIR}/include
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS cmake/embed.cmake ${embedded_candidates}
  COMMENT "Embedding the kernel headers"
  VERBATIM)
target_sources(quarry PRIVATE ${embedded_output})
