# SPDX-License-Identifier: BSD-3-Clause
# What NVRTC compiles travels in the library as strings: the headers of kernels/, the words that a user function finds,
# the headers for kernels of programs (program_headers), and what they include. cmake/embed.cmake writes them to a
# source file whenever one of them has changed.

file(GLOB device_headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS kernels/*.cuh)
file(GLOB shared_headers CONFIGURE_DEPENDS
  include/quarry/kernels/*.hpp include/quarry/kernels/*.def
  include/quarry/base/*.hpp include/quarry/base/*.def)
set(program_headers quarry/textures.cuh)
list(JOIN device_headers "," embedded_names)
list(JOIN program_headers "," program_names)
list(TRANSFORM program_headers PREPEND include/)
set(embedded_output ${PROJECT_BINARY_DIR}/embedded_headers.cpp)
add_custom_command(OUTPUT ${embedded_output}
  COMMAND ${CMAKE_COMMAND} -D OUTPUT=${embedded_output}
          -D HEADERS=${embedded_names},quarry/kernels/function.hpp,quarry/kernels/device_view.hpp,${program_names}
          -D ROOTS=${PROJECT_SOURCE_DIR}/include,${PROJECT_BINARY_DIR}/include,${PROJECT_SOURCE_DIR}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS cmake/embed.cmake ${device_headers} ${shared_headers} ${program_headers}
  COMMENT "Embedding the kernel headers"
  VERBATIM)
target_sources(quarry_objects PRIVATE ${embedded_output})
