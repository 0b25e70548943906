# SPDX-License-Identifier: BSD-3-Clause
# Installs the build in BUILD under WORK and builds and runs main.cpp against what was installed, first through
# find_package, then through pkg-config. Variables: BUILD WORK GENERATOR COMPILER LIBDIR FLAGS PREFIX_PATH SHARED, and
# PACKAGES, where the build has found CMake's files of the libraries that the static library needs; with SOURCE the static
# library is built in BUILD first, as somebody does who only wants to install it, without the packages of the programs in
# tools/.

cmake_minimum_required(VERSION 3.25)
set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(ENV{QUARRY_DEVICE} cpu)
separate_arguments(flags UNIX_COMMAND "${FLAGS}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${output}")
  endif()
endfunction()

if(SOURCE)
  set(ENV{CMAKE_PREFIX_PATH} "${PREFIX_PATH}")
  run(${CMAKE_COMMAND} -G "${GENERATOR}" -S ${SOURCE} -B ${BUILD} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DBUILD_SHARED_LIBS=OFF
    -DQUARRY_TESTS=OFF -DQUARRY_EXAMPLES=OFF
    -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}"
    -DCMAKE_INSTALL_LIBDIR=${LIBDIR})
  run(${CMAKE_COMMAND} --build ${BUILD} --target installed)
endif()
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

set(ENV{CMAKE_PREFIX_PATH} "${prefix}:${PREFIX_PATH}")
run(${CMAKE_COMMAND} -G "${GENERATOR}" -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build
  -DCMAKE_CXX_COMPILER=${COMPILER} "-DCMAKE_CXX_FLAGS=${FLAGS}")
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

find_program(PKG_CONFIG NAMES pkg-config pkgconf)
if(NOT PKG_CONFIG)
  message(STATUS "pkg-config is not installed: only find_package was checked")
  return()
endif()
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
if(NOT SHARED)
  set(static --static)
  string(REPLACE ":" ";" packages "${PACKAGES}")
  foreach(package IN LISTS packages)  # LIBDIR/cmake/NAME; their .pc files may name the place where they were before
    cmake_path(SET libraries NORMALIZE "${package}/../..")
    set(ENV{PKG_CONFIG_PATH} "$ENV{PKG_CONFIG_PATH}:${libraries}/pkgconfig")
    set(ENV{LIBRARY_PATH} "$ENV{LIBRARY_PATH}:${libraries}")
  endforeach()
endif()
execute_process(COMMAND ${PKG_CONFIG} ${static} --cflags --libs quarry OUTPUT_VARIABLE pc_flags COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(pc_flags UNIX_COMMAND "${pc_flags}")
run(${COMPILER} -std=c++20 ${flags} ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${WORK}/consumer
  ${pc_flags} -Wl,-rpath,${prefix}/${LIBDIR})
run(${WORK}/consumer)
