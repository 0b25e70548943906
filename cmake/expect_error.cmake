# SPDX-License-Identifier: BSD-3-Clause
# cmake -D COMPILER=<c++> -D FILE=<snippet.cpp> -D FLAGS=<flag,flag...> -P expect_error.cmake
# Passes when the snippet does not compile and the compiler's message holds the text of each comment `// error: text`
# in it; `// one error: text` says that it is the only error, of at most 30 lines. A comment `// flags: option` at the
# start of a line gives an option of its own. A snippet under the macro QUARRY_VALID has to compile: it shows that
# nothing else is wrong with the file.

cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" flags "${FLAGS}")

file(STRINGS ${FILE} expected REGEX "// (one )?error: ")
if(NOT expected)
  message(FATAL_ERROR "${FILE} has no comment `// error: text`")
endif()

file(STRINGS ${FILE} own_flags REGEX "^// flags: ")
string(REGEX REPLACE "// flags: *" "" own_flags "${own_flags}")

set(command ${COMPILER} -std=c++20 -fsyntax-only ${flags} ${own_flags})
execute_process(COMMAND ${command} ${FILE} RESULT_VARIABLE status ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${FILE} compiles, but it must not")
endif()
foreach(line IN LISTS expected)
  string(REGEX REPLACE "^.*// (one )?error: *" "" text "${line}")
  string(FIND "${output}" "${text}" found)
  if(found EQUAL -1)
    message(FATAL_ERROR "${FILE}: expected the message `${text}`, but the compiler said:\n${output}")
  endif()
  if(line MATCHES "// one error: ")
    string(REGEX MATCHALL "\n" lines "${output}")
    string(REGEX MATCHALL " error: " errors "${output}")
    list(LENGTH lines line_count)
    list(LENGTH errors error_count)
    if(NOT error_count EQUAL 1 OR line_count GREATER 30)
      message(FATAL_ERROR "${FILE}: ${error_count} errors in ${line_count} lines, not one in 30:\n${output}")
    endif()
  endif()
endforeach()

execute_process(COMMAND ${command} -DQUARRY_VALID ${FILE} RESULT_VARIABLE status ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${FILE} must compile with -DQUARRY_VALID, but the compiler said:\n${output}")
endif()
