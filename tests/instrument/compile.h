// Compiles a piece of source with the driver and gives what the pass made of it.

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "instrument/units.h"
#include "support/shell.h"

namespace syndrome::test {

class Compiled {
 public:
  /// `file` decides the language by its suffix.
  explicit Compiled(std::string_view source, const std::string& options = "-g -O0",
                    const std::string& file = "t.cc") {
    shell_.write(file, source);
    const Outcome outcome = shell_.run(
        "syndrome c++ -x " + std::string(file.ends_with(".c") ? "c -std=c17" : "c++ -std=c++20") +
        " -c -o t.o " + options + " " + file);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    if (outcome.code == 0) object_ = shell_.read("t.o");
  }

  [[nodiscard]] UnitFunction function(std::string_view name) const {
    return unit_function(object_, name);
  }
  [[nodiscard]] std::vector<UnitFunction> functions() const { return unit_functions(object_); }

 private:
  Shell shell_;
  std::string object_;
};

/// The LLVM code of a piece of source.
[[nodiscard]] inline std::string llvm_code(std::string_view source, const std::string& options) {
  const Shell shell;
  shell.write("t.cc", source);
  const Outcome outcome =
      shell.run("syndrome c++ -std=c++20 -S -emit-llvm -o - " + options + " t.cc");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

}  // namespace syndrome::test
