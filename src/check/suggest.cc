#include "check/suggest.h"

#include <algorithm>
#include <tuple>

#include "spec/pattern.h"

namespace syndrome::check {
namespace {

/// The name as a spec would have it, or "" for what is not the program's own.
std::string own_name(std::string_view label) {
  if (label.empty()) return {};
  const std::vector<std::string_view> forms = spec::forms_of(label);
  std::string_view shortest = label;
  for (const std::string_view form : forms) {
    if (form.find('(') == std::string_view::npos && form.size() < shortest.size()) shortest = form;
  }
  if (spec::of_library(label) || shortest == "main") return {};
  if (shortest.find("operator") != std::string_view::npos ||
      shortest.find("lambda") != std::string_view::npos ||
      shortest.find('~') != std::string_view::npos) {
    return {};
  }
  return std::string(shortest);
}

}  // namespace

void Suggestions::take(const Batch& batch, const Names& names) {
  for (const Event& event : batch.events) {
    const bool mine = event.kind == EventKind::kEnter || event.kind == EventKind::kExit ||
                      event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease;
    if (!mine) continue;
    if (event.thread.index() >= threads_.size()) threads_.resize(event.thread.index() + 1);
    std::vector<Open>& open = threads_[event.thread.index()];
    if (event.kind == EventKind::kAcquire || event.kind == EventKind::kRelease) {
      if (open.empty()) continue;
      open.back().locks += event.kind == EventKind::kAcquire ? 1 : 0;
      open.back().held += event.kind == EventKind::kAcquire ? 1 : -1;
      continue;
    }
    if (event.kind == EventKind::kExit) {
      const auto it = std::find_if(open.rbegin(), open.rend(), [&](const Open& each) {
        return each.label == event.target || event.target == 0;
      });
      if (it == open.rend()) continue;
      const auto left = static_cast<std::size_t>(open.rend() - it) - 1;
      while (open.size() > left) leave(open);
      continue;
    }
    const bool first = event.thread.value != 0 && std::ranges::all_of(open, [&](const Open& each) {
                         return functions_[each.label].name.empty();
                       });
    open.push_back({event.target, 0, 0});
    if (event.target >= functions_.size()) functions_.resize(event.target + std::size_t{1});
    Function& function = functions_[event.target];
    if (!function.known) {
      function.known = true;
      function.name = own_name(names.label(event.label()));
      function.thread = event.thread.value;
    }
    function.unfit |= first;
    function.several_threads |= function.thread != event.thread.value;
    ++function.calls;
  }
}

void Suggestions::leave(std::vector<Open>& open) {
  const Open last = open.back();
  open.pop_back();
  if (last.locks > 1) functions_[last.label].locks_again = true;
  if (last.held != 0) functions_[last.label].unfit = true;
  if (open.empty()) return;
  open.back().held += last.held;
  open.back().locks = std::min(open.back().locks + last.locks, 1U << 30U);
}

std::vector<std::string> Suggestions::names() const {
  std::vector<const Function*> ranked;
  for (const Function& function : functions_) {
    if (!function.name.empty() && !function.unfit) ranked.push_back(&function);
  }
  const auto rank = [](const Function* function) {
    return std::make_tuple(!(function->locks_again && function->several_threads),
                           !function->several_threads, ~function->calls, function->name);
  };
  std::ranges::sort(ranked, {}, rank);
  std::vector<std::string> result;
  for (const Function* function : ranked) {
    if (result.size() == kMost) break;
    if (std::ranges::find(result, function->name) == result.end()) result.push_back(function->name);
  }
  return result;
}

}  // namespace syndrome::check
