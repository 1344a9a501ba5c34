# make install, and make package (cpack) for a .deb.

set(doc_dir ${CMAKE_INSTALL_DATAROOTDIR}/doc/syndrome)
install(TARGETS syndrome RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES README.md CHANGELOG.md DESTINATION ${doc_dir})
install(FILES LICENSE DESTINATION ${doc_dir} RENAME copyright)
install(DIRECTORY docs/ DESTINATION ${doc_dir}/docs FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION ${doc_dir})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME syndrome)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds atomicity violations in traces of threaded programs")
set(CPACK_PACKAGE_CONTACT "The Syndrome authors <syndrome@localhost>")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
# The libraries that the program is linked with, by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_STRIP_FILES ON)
include(CPack)
