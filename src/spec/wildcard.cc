#include "spec/wildcard.h"

#include <span>

namespace syndrome::spec {

Wildcard::Piece::Piece(std::string_view piece) : text(piece), fallback(piece.size()) {
  std::size_t matched = 0;
  for (std::size_t i = 1; i < text.size(); ++i) {
    while (matched != 0 && text[i] != text[matched]) matched = fallback[matched - 1];
    if (text[i] == text[matched]) ++matched;
    fallback[i] = matched;
  }
}

std::size_t Wildcard::Piece::find_end(std::string_view name, std::size_t at) const {
  std::size_t matched = 0;
  for (; at < name.size(); ++at) {
    while (matched != 0 && name[at] != text[matched]) matched = fallback[matched - 1];
    if (name[at] == text[matched]) ++matched;
    if (matched == text.size()) return at + 1;
  }
  return std::string_view::npos;
}

Wildcard::Wildcard(std::string_view pattern) {
  const bool begins = pattern.starts_with('^');
  if (begins) pattern.remove_prefix(1);
  const bool ends = pattern.ends_with('$');
  if (ends) pattern.remove_suffix(1);
  empty_only_ = begins && ends && pattern.empty();
  from_begin_ = begins && !pattern.starts_with('*');
  to_end_ = ends && !pattern.ends_with('*');
  while (!pattern.empty()) {
    const std::size_t star = pattern.find('*');
    const std::string_view piece = pattern.substr(0, star);
    if (!piece.empty()) pieces_.emplace_back(piece);
    if (star == std::string_view::npos) break;
    pattern.remove_prefix(star + 1);
  }
}

bool Wildcard::matches(std::string_view name) const {
  if (pieces_.empty()) return !empty_only_ || name.empty();
  std::span<const Piece> pieces = pieces_;
  if (from_begin_) {
    const std::string& first = pieces.front().text;
    if (!name.starts_with(first)) return false;
    if (to_end_ && pieces.size() == 1) return name.size() == first.size();
    name.remove_prefix(first.size());
    pieces = pieces.subspan(1);
  }
  if (to_end_) {
    const std::string& last = pieces.back().text;
    if (!name.ends_with(last)) return false;
    name.remove_suffix(last.size());
    pieces = pieces.first(pieces.size() - 1);
  }
  // The first place of each piece leaves the most for those behind it.
  std::size_t at = 0;
  for (const Piece& piece : pieces) {
    at = piece.find_end(name, at);
    if (at == std::string_view::npos) return false;
  }
  return true;
}

}  // namespace syndrome::spec
