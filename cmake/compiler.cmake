# SPDX-License-Identifier: BSD-3-Clause
# How Quarry's own targets are compiled; what they depend on keeps its own flags.

find_program(CCACHE_PROGRAM ccache)
mark_as_advanced(CCACHE_PROGRAM)
if(CCACHE_PROGRAM AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for before it caches a file that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER
    ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

function(quarry_own_code target)
  set_target_properties(${target} PROPERTIES CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wconversion -Wsign-conversion $<$<BOOL:${QUARRY_WERROR}>:-Werror>)
endfunction()

# For targets with a precompiled header: lets ccache see through it.
function(quarry_precompiled target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# The headers of others that most files include, parsed once.
function(quarry_precompile_standard_headers target)
  target_precompile_headers(${target} PRIVATE
    <fmt/format.h> <algorithm> <array> <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <vector>)
  quarry_precompiled(${target})
endfunction()
