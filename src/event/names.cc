#include "event/names.h"

#include <cassert>

namespace syndrome {

std::uint32_t StringTable::append(std::string_view text) {
  bytes_.append(text);
  ends_.push_back(bytes_.size());
  return static_cast<std::uint32_t>(ends_.size() - 1);
}

std::string_view StringTable::operator[](std::size_t id) const {
  assert(id < ends_.size());
  const std::uint64_t begin = id == 0 ? 0 : ends_[id - 1];
  return std::string_view(bytes_).substr(begin, ends_[id] - begin);
}

Names::Names() {
  table(Space::kLabel).append("");
  table(Space::kSite).append("");
}

}  // namespace syndrome
