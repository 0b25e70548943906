# SPDX-License-Identifier: BSD-3-Clause
# cmake -D COMPILER=... -D INCLUDE=<folder> -D HEADERS=<glob> -D FLAGS=a,b,c -P expect_standard.cmake
# Each of the headers, included alone before C++20, says so and little else. (Those of kernels/ come after others.)

cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" flags "${FLAGS}")

file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/${HEADERS})
list(FILTER headers EXCLUDE REGEX "^quarry/kernels/")
foreach(header IN LISTS headers)
  execute_process(COMMAND ${COMPILER} -std=c++17 -fsyntax-only ${flags} -include ${header} -x c++ /dev/null
    RESULT_VARIABLE status ERROR_VARIABLE output)
  string(REGEX MATCHALL "\n" lines "${output}")
  list(LENGTH lines count)
  if(status EQUAL 0 OR NOT output MATCHES "Quarry needs C\\+\\+20" OR count GREATER 20)
    message(FATAL_ERROR "${header} with ${COMPILER} -std=c++17:\n${output}")
  endif()
endforeach()
