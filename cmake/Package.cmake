# make install, and make package (cpack) for a .deb.

set(doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/syndrome)
install(TARGETS syndrome RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The drivers find the plugin, the runtime and the annotations in ../lib/syndrome of their own folder,
# in the build tree as after installation.
set(library_dir lib/syndrome)
foreach(driver cc c++)
  install(CODE "file(CREATE_LINK syndrome \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/syndrome-${driver}\" SYMBOLIC)")
endforeach()
install(TARGETS syndrome_pass syndrome_rt LIBRARY DESTINATION ${library_dir})
install(FILES include/syndrome/syndrome.h DESTINATION ${library_dir}/include/syndrome)
install(FILES include/syndrome/syndrome.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/syndrome)
configure_file(include/syndrome/syndrome.h
  ${CMAKE_BINARY_DIR}/${library_dir}/include/syndrome/syndrome.h COPYONLY)

# find_package(Syndrome), from the build tree and from the installation: both look alike.
include(CMakePackageConfigHelpers)
set(config_dir lib/cmake/Syndrome)
set(SYNDROME_PREFIX_FROM_CONFIG ../../..)
set(SYNDROME_BIN_FROM_PREFIX ${CMAKE_INSTALL_BINDIR})
configure_package_config_file(cmake/SyndromeConfig.cmake.in
  ${CMAKE_BINARY_DIR}/${config_dir}/SyndromeConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/${config_dir}/SyndromeConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/${config_dir}/SyndromeConfig.cmake
              ${CMAKE_BINARY_DIR}/${config_dir}/SyndromeConfigVersion.cmake
  DESTINATION ${config_dir})

# Manual pages and completion, as the program itself gives them (src/cli/CMakeLists.txt).
set(man_dir ${CMAKE_BINARY_DIR}/man)
set(completion_dir ${CMAKE_BINARY_DIR}/completion)
install(DIRECTORY ${man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${completion_dir}/syndrome
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/bash-completion/completions)
install(FILES ${completion_dir}/_syndrome
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/zsh/site-functions)
install(FILES ${completion_dir}/syndrome.fish
  DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/fish/vendor_completions.d)

install(FILES README.md CHANGELOG.md DESTINATION ${doc_dir})
install(FILES LICENSE DESTINATION ${doc_dir} RENAME copyright)
install(DIRECTORY docs/ DESTINATION ${doc_dir}/docs FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(DIRECTORY examples DESTINATION ${doc_dir})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME syndrome)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds atomicity violations in traces of threaded programs")
set(CPACK_PACKAGE_CONTACT "The Syndrome authors <syndrome@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# The libraries that the program is linked with, by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-19, llvm-19")
set(CPACK_STRIP_FILES ON)
include(CPack)
