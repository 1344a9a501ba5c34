#include "spec/namer.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/pattern.h"

namespace syndrome::spec {
namespace {

/// Whether TOML can hold the name: no bytes below a space, and UTF-8.
bool writable(std::string_view name) {
  std::size_t more = 0;  // bytes that the character still needs
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (more != 0) {
      if ((byte & 0xC0U) != 0x80U) return false;
      --more;
      continue;
    }
    if (byte < 0x20 || byte == 0x7F) return false;
    if (byte < 0x80) continue;
    if (byte >= 0xC2 && byte < 0xE0) {
      more = 1;
    } else if ((byte & 0xF0U) == 0xE0U) {
      more = 2;
    } else if (byte >= 0xF0 && byte < 0xF5) {
      more = 3;
    } else {
      return false;
    }
  }
  return more == 0;
}

std::string escaped(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace

std::string bare_name(std::string_view label) {
  return without_templates(simple_name(label));
}

Namer::Namer(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) by_name_[bare_name(label)].push_back(label);
}

bool Namer::good(const std::string& entry, std::string_view label,
                 const std::function<bool(std::string_view)>& meant) const {
  const Result<Pattern> pattern = Pattern::parse(entry);
  if (!pattern || !pattern->matches(forms_of(label))) return false;
  const auto same = by_name_.find(bare_name(label));  // an entry meets no other labels
  return same == by_name_.end() ||
         std::ranges::none_of(same->second, [&](const std::string& other) {
           return !meant(other) && pattern->matches(forms_of(other));
         });
}

std::optional<std::string> Namer::entry_for(
    std::string_view label, const std::function<bool(std::string_view)>& meant) const {
  if (label.empty() || !writable(label)) return std::nullopt;
  const std::string_view spoken = spoken_name(label);
  for (const std::string& entry :
       {std::string(spoken), fmt::format("::{}", spoken), std::string(label),
        fmt::format("::{}", label), fmt::format("re:^{}$", escaped(label))}) {
    if (good(entry, label, meant)) return entry;
  }
  return std::nullopt;
}

}  // namespace syndrome::spec
