# What the build takes from Debian, and what to type when something of it is missing.

# Requires `found`, a variable that a find_… command has set for `package` (its Debian name).
function(syndrome_require package found)
  if(NOT ${found})
    message(FATAL_ERROR "The Debian package ${package} is missing. `make deps` installs what "
                        "building and testing need; scripts/deps lists it.")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(fmt QUIET)
syndrome_require(libfmt-dev fmt_FOUND)
find_package(ZLIB QUIET)
syndrome_require(zlib1g-dev ZLIB_FOUND)
find_package(nlohmann_json QUIET)
syndrome_require(nlohmann-json3-dev nlohmann_json_FOUND)
find_package(tsl-robin-map QUIET)
syndrome_require(robin-map-dev tsl-robin-map_FOUND)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp)
syndrome_require(libcli11-dev CLI11_INCLUDE_DIR)
find_path(SYNDROME_TOMLPP_INCLUDE_DIR toml++/toml.h)
syndrome_require(libtomlplusplus-dev SYNDROME_TOMLPP_INCLUDE_DIR)

find_package(PkgConfig QUIET)
syndrome_require(pkg-config PkgConfig_FOUND)
pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
syndrome_require(libzstd-dev ZSTD_FOUND)
pkg_check_modules(XXHASH QUIET IMPORTED_TARGET libxxhash)
syndrome_require(libxxhash-dev XXHASH_FOUND)

# The compiler plugin is for Debian's clang 19, whose LLVM lies beside other versions.
find_package(LLVM 19.1 QUIET CONFIG HINTS /usr/lib/llvm-19)
syndrome_require(llvm-19-dev LLVM_FOUND)

if(BUILD_TESTING)
  find_package(GTest QUIET)
  syndrome_require("libgtest-dev or libgmock-dev" GTest_FOUND)
  include(GoogleTest)
endif()
