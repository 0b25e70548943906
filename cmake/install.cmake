# SPDX-License-Identifier: BSD-3-Clause
# The library, its headers, quarry-info, and what find_package(quarry CONFIG) and pkg-config read.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/quarry)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS quarry EXPORT quarry-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/quarry ${PROJECT_BINARY_DIR}/include/quarry
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.hpp PATTERN *.cuh PATTERN *.def)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT quarry-targets NAMESPACE quarry:: DESTINATION ${package_dir})
configure_package_config_file(cmake/quarry-config.cmake.in quarry-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(quarry-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quarry-config.cmake ${PROJECT_BINARY_DIR}/quarry-config-version.cmake
  DESTINATION ${package_dir})

# The prefix in quarry.pc is reckoned from the file's own place, so that the installed tree can be moved.
set(pkgconfig_requires)
set(pkgconfig_libs)
if(NOT BUILD_SHARED_LIBS)
  set(pkgconfig_requires "tbb fmt")
  if(QUARRY_HAS_ZLIB)
    string(APPEND pkgconfig_requires " zlib")
  endif()
  set(pkgconfig_libs "-pthread -ldl")
endif()
file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${pkgconfig_dir} /prefix)
configure_file(cmake/quarry.pc.in quarry.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/quarry.pc DESTINATION ${pkgconfig_dir})
