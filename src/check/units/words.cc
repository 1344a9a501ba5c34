#include "check/units/words.h"

#include <fmt/format.h>

#include <string_view>

#include "check/patterns.h"

namespace syndrome::check::units {
namespace {

/// "bank.cc:21" of "/home/me/bank.cc:21:7 Account::get".
std::string place_of(SiteId site, const Names& names) {
  std::string_view text = names.site(site);
  text = text.substr(0, text.find(' '));
  text.remove_prefix(text.rfind('/') + 1);  // npos + 1 is 0
  const std::size_t line = text.find(':');
  if (line == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, text.find(':', line + 1)));
}

/// "count_" of "Counter::count_@5581c0~2".
std::string_view bare(std::string_view variable) {
  return atomic_sets::set_without_object(variable);
}

}  // namespace

std::string connection_of(const Found& found, const Names& names) {
  const std::string from = place_of(found.from, names);
  const std::string to = place_of(found.to, names);
  switch (found.judgement.link) {
    case Link::kData:
      return found.pattern == 1
                 ? fmt::format("the value read at {} is part of what {} writes", from, to)
                 : fmt::format("the value read at {} is used by {}", from, to);
    case Link::kHandle: return fmt::format("the pointer read at {} is used by {}", from, to);
    case Link::kAddress:
      return fmt::format("the value read at {} decides where {} accesses", from, to);
    case Link::kControl:
      return fmt::format("the value read at {} decides whether {} happens", from, to);
    case Link::kJoined: return fmt::format("the values read at {} and {} are combined", from, to);
    case Link::kSource:
      return fmt::format("the values written at {} and {} come from one source", from, to);
    case Link::kReset:
      return fmt::format("{} sets back what was read at {}, with what was added since", to, from);
    case Link::kReread:
      return fmt::format("what {} updates is read again at {}, for a decision", from, to);
    case Link::kOther:
      return fmt::format("the other thread uses what {} and {} write as one", from, to);
    case Link::kHold:
      return fmt::format("{} is held from {} to {}, and the other thread does not hold it",
                         bare(names.lock(found.lock)), from, to);
    case Link::kNone: break;
  }
  return {};
}

std::string data_of(const Found& found, const Names& names) {
  const std::string_view first = bare(names.variable(found.first));
  const std::string_view second = bare(names.variable(found.second));
  // A container has many locations, and so has an object of which only addresses are known.
  const auto container = [](std::string_view name) { return name.substr(0, name.find("._M_")); };
  std::string a(container(first));
  std::string b(container(second));
  if (b < a) std::swap(a, b);
  return a == b ? a : a + " " + b;
}

std::string set_of(const Found& found, const Names& names) {
  if (found.has_object) {
    const std::string_view object = names.of(Space::kObject, found.object.value);
    return std::string(object.substr(0, object.rfind('+')));
  }
  return std::string(names.variable(found.first));
}

}  // namespace syndrome::check::units
