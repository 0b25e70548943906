# SPDX-License-Identifier: BSD-3-Clause
# cmake -D COMPILER=... -D FILE=... -D FLAGS=a,b,c -D WORK=<folder> -P expect_clean.cmake
# Compiles FILE, or the first program of a .md file, as a strict user would: no compiler may say a word. The optimiser's
# warnings do not care whether a header is a system header, so it is compiled with -isystem too.

cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" flags "${FLAGS}")

if(FILE MATCHES "\\.md$")
  file(READ ${FILE} text)
  string(FIND "${text}" "```cpp\n" begin)
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  cmake_path(GET FILE STEM stem)
  set(FILE ${WORK}/${stem}.cpp)
  file(WRITE ${FILE} "${text}")
endif()

set(warnings -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Werror)
string(REGEX REPLACE "(^|;)-I" "\\1-isystem" system_flags "${flags}")
foreach(variant flags system_flags)
  execute_process(COMMAND ${COMPILER} -std=c++20 -O2 ${warnings} ${${variant}} -c ${FILE} -o /dev/null
    RESULT_VARIABLE status ERROR_VARIABLE output)
  if(NOT status EQUAL 0 OR output)
    message(FATAL_ERROR "${COMPILER} on ${FILE} with ${variant}:\n${output}")
  endif()
endforeach()
