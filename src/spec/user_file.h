// What the readers of files that users write by hand have in common.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "event/result.h"

namespace syndrome::spec {

/// The file, or as much of it as shows that it has more than `most` bytes.
[[nodiscard]] Result<std::string> read_user_file(const std::string& path, std::size_t most);

/// A user's text inside a message: in quotes, shortened, without control characters.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace syndrome::spec
