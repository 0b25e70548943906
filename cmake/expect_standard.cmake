# SPDX-License-Identifier: BSD-3-Clause
# cmake -D COMPILER=... -D INCLUDE=<folder> -D HEADERS=<glob> -D FLAGS=a,b,c -P expect_standard.cmake
# Each of the headers, included alone before C++20, says so and nothing else.

cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" flags "${FLAGS}")

file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/${HEADERS})
foreach(header IN LISTS headers)
  execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only ${flags} -include ${header} -x c++ /dev/null
    RESULT_VARIABLE status ERROR_VARIABLE output)
  string(REGEX MATCHALL "error:" errors "${output}")  # this one, and that a file is missing, which ends it
  list(LENGTH errors count)
  if(status EQUAL 0 OR NOT output MATCHES "Quarry needs C\\+\\+20" OR count GREATER 2)
    message(FATAL_ERROR "${header} with ${COMPILER} -std=c++17:\n${output}")
  endif()
endforeach()
