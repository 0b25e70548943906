# SPDX-License-Identifier: BSD-3-Clause
# What the shared library exports. quarry_internal, in the build tree alone, exports everything; those of its symbols that
# a public header declares are what quarry exports. A static library has no such choice: quarry_internal is then quarry.

if(NOT BUILD_SHARED_LIBS)
  add_library(quarry_internal ALIAS quarry)
  return()
endif()

quarry_library(quarry_internal SHARED)

file(GLOB_RECURSE public_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.hpp)
set(exports ${PROJECT_BINARY_DIR}/exports)
set(internal_library $<TARGET_FILE:quarry_internal>)
add_custom_command(OUTPUT ${exports}.map
  COMMAND ${CMAKE_NM} -D -p --defined-only ${internal_library} > ${exports}.symbols
  COMMAND ${CMAKE_NM} -D -p -C --defined-only ${internal_library} > ${exports}.names
  COMMAND awk -f ${PROJECT_SOURCE_DIR}/cmake/exports.awk ${public_headers} ${exports}.symbols ${exports}.names
          > ${exports}.map
  DEPENDS quarry_internal cmake/exports.awk ${public_headers}
  COMMENT "Listing the symbols of the public headers"
  VERBATIM)
add_custom_target(exports_map DEPENDS ${exports}.map)

function(quarry_exports target)
  add_dependencies(${target} exports_map)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${PROJECT_BINARY_DIR}/exports.map)
  target_link_options(${target} PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/exports.map)
endfunction()

quarry_exports(quarry)
