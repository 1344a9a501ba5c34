// Which functions an entry of a spec means.
//
// A function has one name in the trace and several that people use for it. An entry matches when it
// matches one of these forms:
//
//   Account::transfer(int, Account&) const    as it is
//   Account::transfer                         without its parameters (and what follows them)
//   bool store::put<int>(int)                 … and without the return type that demangled
//   store::put<int>                               templates have
//   test/Test.run(I)V                         Java: as it is, and
//   test/Test.run, Test.run, run                  its method with package, with class, alone
//
// An entry is one of
//
//   Account::transfer     a name: is one of the forms, or what one of them ends with after a `::`
//                         (bank::Account::transfer); template arguments that it does not give may
//                         be any (Account<int>::transfer<long>)
//   ::transfer            with `::` in front: nothing may come before it
//   put(int)              with parameters: this overload
//   Account::*            a name that ends in `::*`, `.*` or `/*`: what begins with what is before
//                         the star, and goes on; `::` and template arguments as above
//   re:^store::.*         an ECMAScript regular expression, found somewhere in one of the forms
//
// Regular expressions are the user's, names are the trace's, and neither may hang or crash us: see
// pattern.cc.

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"

namespace syndrome::spec {

inline constexpr std::size_t kMaxPatternLength = 256;  // of a regular expression
inline constexpr std::size_t kMaxSubjectLength =
    4096;  // of an entry, and of a name that a regular expression is tried on

/// The forms of a function's name, most exact first, each once. They point into `name`.
[[nodiscard]] std::vector<std::string_view> forms_of(std::string_view name);

/// The same with what matching needs to know of each, found out once for many patterns. Points into
/// `name`.
struct TakenApart {
  explicit TakenApart(std::string_view name) : TakenApart(forms_of(name)) {}
  explicit TakenApart(const std::vector<std::string_view>& forms);

  struct Form {
    std::string_view text;
    std::vector<std::size_t> parts;  // where its namespaces, classes and the name itself begin
  };
  std::vector<Form> forms;
};

/// The name as people say it: without parameters and return type, `store::put<int>`.
[[nodiscard]] std::string_view spoken_name(std::string_view name);

/// The same without any template arguments: `store::put`.
[[nodiscard]] std::string without_templates(std::string_view name);

/// The function alone, without parameters, return type, class, namespace and package:
/// `transfer`, `put<int>`, `run`.
[[nodiscard]] std::string_view simple_name(std::string_view name);

/// Whether a function is the standard library's or the compiler's own, by its name.
[[nodiscard]] bool of_library(std::string_view name);

class Pattern {
 public:
  /// An error (without a position) for a regular expression that is malformed or too much.
  [[nodiscard]] static Result<Pattern> parse(std::string_view text);

  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }
  /// Whether it matches one of the forms (forms_of) of a name. Of a longer form, a regular
  /// expression sees the first kMaxSubjectLength characters.
  [[nodiscard]] bool matches(const std::vector<std::string_view>& forms) const {
    return matches(TakenApart(forms));
  }
  [[nodiscard]] bool matches(const TakenApart& name) const;
  [[nodiscard]] bool is_regex() const { return regex_ != nullptr; }

 private:
  struct Regex;
  explicit Pattern(std::string_view text);

  std::string text_;
  std::string prefix_;  // before the star; empty when there is none
  std::unique_ptr<Regex> regex_;
};

}  // namespace syndrome::spec
