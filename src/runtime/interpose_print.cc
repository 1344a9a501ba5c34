// Texts that are printed into memory. What the format's arguments point to is not recorded.

#include <stdarg.h>
#include <stdio.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(vsprintf);
SYNDROME_REAL(vsnprintf);
SYNDROME_REAL(vasprintf);
SYNDROME_REAL_AS(__vsprintf_chk, int(char*, int, std::size_t, const char*, va_list));
SYNDROME_REAL_AS(__vsnprintf_chk, int(char*, std::size_t, int, std::size_t, const char*, va_list));
SYNDROME_REAL_AS(__vasprintf_chk, int(char**, int, const char*, va_list));

// `length` characters and the 0 behind them, or as much of that as there is room for.
int printed(const char* to, int length, std::size_t room = SIZE_MAX) {
  if (length >= 0 && recording()) {
    const auto bytes = static_cast<std::size_t>(length) + 1;
    write_range(to, bytes < room ? bytes : room);
  }
  return length;
}

int printed_new(char** to, int length) {
  if (length >= 0 && recording()) write_range(static_cast<const void*>(to), sizeof *to);
  return length >= 0 ? printed(*to, length) : length;
}

}  // namespace

// The functions with "..." end in those with a va_list.
#define SYNDROME_FORWARD(call)      \
  va_list list;                     \
  va_start(list, format);           \
  const int syndrome_result = call; \
  va_end(list);                     \
  return syndrome_result

SYNDROME_INTERPOSE int vsprintf(char* to, const char* format, va_list list) noexcept {
  return printed(to, real_vsprintf(to, format, list));
}
SYNDROME_INTERPOSE int vsnprintf(char* to, std::size_t room, const char* format,
                                 va_list list) noexcept {
  return printed(to, real_vsnprintf(to, room, format, list), room);
}
SYNDROME_INTERPOSE int vasprintf(char** to, const char* format, va_list list) noexcept {
  return printed_new(to, real_vasprintf(to, format, list));
}
SYNDROME_INTERPOSE int __vsprintf_chk(char* to, int flag, std::size_t known, const char* format,
                                      va_list list) noexcept {
  return printed(to, real___vsprintf_chk(to, flag, known, format, list));
}
SYNDROME_INTERPOSE int __vsnprintf_chk(char* to, std::size_t room, int flag, std::size_t known,
                                       const char* format, va_list list) noexcept {
  return printed(to, real___vsnprintf_chk(to, room, flag, known, format, list), room);
}
SYNDROME_INTERPOSE int __vasprintf_chk(char** to, int flag, const char* format,
                                       va_list list) noexcept {
  return printed_new(to, real___vasprintf_chk(to, flag, format, list));
}

SYNDROME_INTERPOSE int sprintf(char* to, const char* format, ...) noexcept {
  SYNDROME_FORWARD(vsprintf(to, format, list));
}
SYNDROME_INTERPOSE int snprintf(char* to, std::size_t room, const char* format, ...) noexcept {
  SYNDROME_FORWARD(vsnprintf(to, room, format, list));
}
SYNDROME_INTERPOSE int asprintf(char** to, const char* format, ...) noexcept {
  SYNDROME_FORWARD(vasprintf(to, format, list));
}
SYNDROME_INTERPOSE int __sprintf_chk(char* to, int flag, std::size_t known, const char* format,
                                     ...) noexcept {
  SYNDROME_FORWARD(__vsprintf_chk(to, flag, known, format, list));
}
SYNDROME_INTERPOSE int __snprintf_chk(char* to, std::size_t room, int flag, std::size_t known,
                                      const char* format, ...) noexcept {
  SYNDROME_FORWARD(__vsnprintf_chk(to, room, flag, known, format, list));
}
SYNDROME_INTERPOSE int __asprintf_chk(char** to, int flag, const char* format, ...) noexcept {
  SYNDROME_FORWARD(__vasprintf_chk(to, flag, format, list));
}

}  // namespace syndrome::rt
