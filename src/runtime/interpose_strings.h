// The plain memory functions, for the runtime's own use: nothing is recorded, and they work before
// anything has been looked up.

#pragma once

#include <cstddef>

namespace syndrome::rt {

void* plain_memcpy(void* to, const void* from, std::size_t bytes);
void* plain_memmove(void* to, const void* from, std::size_t bytes);
void* plain_memset(void* to, int value, std::size_t bytes);

}  // namespace syndrome::rt
