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

# And reading headers is most of what building the rest takes: the sources of a folder are read eight
# at a time. The presets debug and clang build each alone, which shows what one forgot to include.
option(SYNDROME_TOGETHER "Compile the sources of a folder together" OFF)
function(syndrome_together target)
  if(SYNDROME_TOGETHER AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)  # what is a source file's own is taken for a header's
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()

# What clang-tidy looks for in each source before it is compiled. Most of its checks take their time
# for headers, and want SYNDROME_TOGETHER; the path-sensitive analyzer sees what is in the file
# itself and nothing else, so it wants each source alone.
set(SYNDROME_TIDY "" CACHE STRING "As clang-tidy's --checks, behind those of .clang-tidy")
if(SYNDROME_TIDY)
  set(CMAKE_CXX_CLANG_TIDY clang-tidy-19 --quiet --checks=${SYNDROME_TIDY})
endif()

# syndrome_tests(TARGET …): the tests of a program, as gtest_discover_tests has it. A busy machine may
# take longer than its five seconds to start a program. How long a test may take is in the presets,
# and is there for those that hang: no test says so itself.
#
# Each has one of the labels unit (a component, from its own folder) and program (the built program,
# or programs that it builds), and slow when cmake/slow_tests.txt says so. Those in which more than one
# thread of ours runs have the label threads as well and are what the target threads builds: they are
# what ThreadSanitizer can say something about.
set(SYNDROME_THREADED syndrome_trace_test syndrome_engine_differential_test
    syndrome_check_nondeterminism_test syndrome_explore_test
    cli_test record_test run_test order_test convert_test nondeterminism_command_test)
add_custom_target(threads)
set(SYNDROME_SLOW_TESTS ${PROJECT_SOURCE_DIR}/cmake/slow_tests.txt)
file(STRINGS ${SYNDROME_SLOW_TESTS} SYNDROME_SLOW REGEX "^[^#]")
list(JOIN SYNDROME_SLOW "|" SYNDROME_SLOW)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SYNDROME_SLOW_TESTS})

# syndrome_label(LABELS TEST…): tests that add_test() made.
function(syndrome_label labels)
  foreach(test ${ARGN})
    set(all ${labels})
    if(test MATCHES "${SYNDROME_SLOW}")
      list(APPEND all slow)
    endif()
    set_tests_properties(${test} PROPERTIES LABELS "${all}")
  endforeach()
endfunction()

function(syndrome_tests target)
  set(labels program)
  if(target MATCHES "^syndrome_")
    set(labels unit)
  endif()
  if(target IN_LIST SYNDROME_THREADED)
    add_dependencies(threads ${target})
    list(APPEND labels threads)
  endif()
  gtest_discover_tests(${target} DISCOVERY_TIMEOUT 600 ${ARGN} TEST_LIST ${target}_names)
  # The names of the tests are known when CTest reads them, and so are their labels.
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
  file(CONFIGURE OUTPUT ${script} @ONLY CONTENT [[foreach(test IN LISTS @target@_names)
  set(labels "@labels@")
  if(test MATCHES [==[@SYNDROME_SLOW@]==])
    list(APPEND labels slow)
  endif()
  set_tests_properties("${test}" PROPERTIES LABELS "${labels}")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
  # The analyzer takes long on a file full of GoogleTest macros and has nothing to say there.
  if(SYNDROME_TIDY MATCHES "^-\\*,clang-analyzer")
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "")
  endif()
endfunction()

# syndrome_folder(NAME USES lib…): defines syndrome_NAME and, with tests, syndrome_NAME_test.
# APART: its sources use one name for several things, so each is compiled alone.
function(syndrome_folder name)
  cmake_parse_arguments(ARG "APART" "" "USES;TEST_USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if(sources)
    add_library(syndrome_${name} STATIC ${sources})
    target_link_libraries(syndrome_${name} PUBLIC syndrome_options ${ARG_USES})
    if(NOT ARG_APART)
      syndrome_together(syndrome_${name})
    endif()
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
    syndrome_tests(syndrome_${name}_test
      PROPERTIES ENVIRONMENT "SYNDROME_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
  endif()
endfunction()

# syndrome_stable_sort(TARGET): it uses std::stable_sort or std::stable_partition. Those of libstdc++
# 12 call what libstdc++ itself declares deprecated, and clang 19 tells us of it as ours.
function(syndrome_stable_sort target)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
endfunction()
