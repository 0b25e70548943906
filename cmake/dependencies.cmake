# SPDX-License-Identifier: BSD-3-Clause
# Every third-party library: the machine's own package first, else a pinned source tree fetched at configure time. What
# is not fetched is optional.

include(FetchContent)
find_package(Threads REQUIRED)

# quarry_dependency(<package> <target> <tag> <repository> [<cache variable> <value>]...)
# After the call <target> exists. A fetched project is built with the variables given and with its own warnings.
function(quarry_dependency package target tag repository)
  find_package(${package} QUIET)
  if(TARGET ${target})
    return()
  endif()
  message(STATUS "${package}: not installed, building the sources of ${repository} ${tag}")
  while(ARGN)
    list(POP_FRONT ARGN name value)
    set(${name} ${value} CACHE INTERNAL "set by quarry for ${package}")
  endwhile()
  string(TOLOWER ${package} name)
  FetchContent_Declare(${name} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON SYSTEM)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(BUILD_SHARED_LIBS OFF)
  if(package STREQUAL "TBB")  # its scheduler may be in a process only once
    set(BUILD_SHARED_LIBS ON)
  endif()
  FetchContent_MakeAvailable(${name})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "${package} ${tag} was fetched, but it has no target ${target}")
  endif()
  if(NOT package MATCHES "^(TBB|fmt)$")  # those two are linked into the library: they are installed with it
    set_property(DIRECTORY ${${name}_SOURCE_DIR} PROPERTY EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

quarry_dependency(TBB TBB::tbb v2021.13.0 https://github.com/oneapi-src/oneTBB.git
  TBB_TEST OFF TBB_STRICT OFF TBBMALLOC_BUILD OFF)
quarry_dependency(fmt fmt::fmt 9.1.0 https://github.com/fmtlib/fmt.git FMT_INSTALL ON)

# For .npz files. Without it the library is built all the same, and says so when it meets one.
find_package(ZLIB QUIET)
set(QUARRY_HAS_ZLIB ${ZLIB_FOUND})
set(QUARRY_ZLIB)
if(QUARRY_HAS_ZLIB)
  set(QUARRY_ZLIB ZLIB::ZLIB)
else()
  message(STATUS "ZLIB: not installed, .npz files are not read and written")
endif()

# What only the programs in tools/ need. They are left out without it: the library is built all the same.
find_package(CLI11 2.1 QUIET)
find_package(nlohmann_json 3.11 QUIET)

if(QUARRY_TESTS OR QUARRY_BENCH)
  quarry_dependency(Eigen3 Eigen3::Eigen 3.4.0 https://gitlab.com/libeigen/eigen.git
    EIGEN_BUILD_TESTING OFF EIGEN_BUILD_DOC OFF EIGEN_BUILD_PKGCONFIG OFF BUILD_TESTING OFF)
endif()

if(QUARRY_TESTS OR QUARRY_EXAMPLES OR QUARRY_BENCH)
  quarry_dependency(xtl xtl 0.8.2 https://github.com/xtensor-stack/xtl.git)
  quarry_dependency(xtensor xtensor 0.27.1 https://github.com/xtensor-stack/xtensor.git)
endif()

if(QUARRY_TESTS OR QUARRY_EXAMPLES OR QUARRY_FUZZ)
  quarry_dependency(dlpack dlpack::dlpack v0.6 https://github.com/dmlc/dlpack.git BUILD_MOCK OFF)
endif()

if(QUARRY_TESTS)
  quarry_dependency(GTest GTest::gtest_main v1.14.0 https://github.com/google/googletest.git INSTALL_GTEST OFF BUILD_GMOCK OFF)
endif()

if(QUARRY_BENCH)
  quarry_dependency(benchmark benchmark::benchmark_main v1.8.3 https://github.com/google/benchmark.git
    BENCHMARK_ENABLE_TESTING OFF BENCHMARK_ENABLE_INSTALL OFF)
endif()

if(QUARRY_EXAMPLES)
  find_package(PNG QUIET)
endif()
