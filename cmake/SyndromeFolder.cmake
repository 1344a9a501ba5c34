# A folder under src/ is a library: its *.cc without *_test.cc, and beside it a test program made of
# its *_test.cc. What it may include is what it names under USES, and nothing else.

add_library(syndrome_options INTERFACE)
target_include_directories(syndrome_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(syndrome_options INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror
  # SSE4.2 has the unsigned maximum that the clocks are made of; every x86-64 since 2009 has it.
  $<$<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>:-march=x86-64-v2>)
target_compile_definitions(syndrome_options INTERFACE SYNDROME_VERSION="${PROJECT_VERSION}")

# What most of the time of building tests goes into is reading the headers of GoogleTest: that is done
# once for all of them. Where a cache of compilations is used, it does better alone.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()
if(BUILD_TESTING)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cc CONTENT "")  # stays as it is
  add_library(syndrome_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cc)
  target_link_libraries(syndrome_test_headers PRIVATE syndrome_options GTest::gmock)
  target_compile_options(syndrome_test_headers PRIVATE -O0)
  target_precompile_headers(syndrome_test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <filesystem> <map> <string> <vector>)
endif()

# syndrome_folder(NAME USES lib…): defines syndrome_NAME and, with tests, syndrome_NAME_test.
function(syndrome_folder name)
  cmake_parse_arguments(ARG "" "" "USES;TEST_USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(syndrome_${name} STATIC ${sources})
    target_link_libraries(syndrome_${name} PUBLIC syndrome_options ${ARG_USES})
  else()
    add_library(syndrome_${name} INTERFACE)
    target_link_libraries(syndrome_${name} INTERFACE syndrome_options ${ARG_USES})
  endif()
  if(BUILD_TESTING AND tests)
    add_executable(syndrome_${name}_test ${tests})
    target_link_libraries(syndrome_${name}_test
      PRIVATE syndrome_${name} ${ARG_TEST_USES} GTest::gmock GTest::gtest_main)
    # What takes time when tests run is in the libraries; what takes time to build is the tests.
    target_compile_options(syndrome_${name}_test PRIVATE -O0)
    target_precompile_headers(syndrome_${name}_test REUSE_FROM syndrome_test_headers)
    gtest_discover_tests(syndrome_${name}_test DISCOVERY_TIMEOUT 60
      PROPERTIES ENVIRONMENT "SYNDROME_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  endif()
endfunction()
