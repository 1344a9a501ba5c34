// Text in a buffer of the caller's, without the C library.

#pragma once

#include <cstdint>

namespace syndrome::rt {

/// Both write behind `to`, end with 0, and return where that stands.
inline char* append_text(char* to, const char* text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

inline char* append_number(char* to, std::uint64_t number) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *to++ = digits[--count];
  *to = 0;
  return to;
}

}  // namespace syndrome::rt
