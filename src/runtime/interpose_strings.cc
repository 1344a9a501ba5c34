// libc's functions on memory and strings: what they read and write on behalf of the program.
//
// These are the first that anything calls, the dynamic loader's relocation of this library
// included: until the real one is known, a simple one stands in.

#include "runtime/interpose_strings.h"

#include <string.h>
#include <strings.h>
#include <wchar.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

// string.h declares two of each of these, for const; the types are C's.
SYNDROME_REAL(memcpy);
SYNDROME_REAL(memmove);
SYNDROME_REAL(mempcpy);
SYNDROME_REAL(memset);
SYNDROME_REAL(memcmp);
SYNDROME_REAL(bcmp);
SYNDROME_REAL_AS(memchr, void*(const void*, int, std::size_t));
SYNDROME_REAL_AS(memrchr, void*(const void*, int, std::size_t));
SYNDROME_REAL(memmem);
SYNDROME_REAL(memccpy);
SYNDROME_REAL(strlen);
SYNDROME_REAL(strnlen);
SYNDROME_REAL(strcpy);
SYNDROME_REAL(stpcpy);
SYNDROME_REAL(strncpy);
SYNDROME_REAL(stpncpy);
SYNDROME_REAL(strcat);
SYNDROME_REAL(strncat);
SYNDROME_REAL(strcmp);
SYNDROME_REAL(strncmp);
SYNDROME_REAL(strcasecmp);
SYNDROME_REAL(strncasecmp);
SYNDROME_REAL(strdup);
SYNDROME_REAL(strndup);
SYNDROME_REAL_AS(strchr, char*(const char*, int));
SYNDROME_REAL_AS(strrchr, char*(const char*, int));
SYNDROME_REAL_AS(strchrnul, char*(const char*, int));
SYNDROME_REAL_AS(strstr, char*(const char*, const char*));
SYNDROME_REAL_AS(strpbrk, char*(const char*, const char*));
SYNDROME_REAL(strspn);
SYNDROME_REAL(strcspn);
SYNDROME_REAL(explicit_bzero);
SYNDROME_REAL(bzero);
SYNDROME_REAL(bcopy);
SYNDROME_REAL_AS(__memcpy_chk, void*(void*, const void*, std::size_t, std::size_t));
SYNDROME_REAL_AS(__memmove_chk, void*(void*, const void*, std::size_t, std::size_t));
SYNDROME_REAL_AS(__mempcpy_chk, void*(void*, const void*, std::size_t, std::size_t));
SYNDROME_REAL_AS(__memset_chk, void*(void*, int, std::size_t, std::size_t));
SYNDROME_REAL_AS(__strcpy_chk, char*(char*, const char*, std::size_t));
SYNDROME_REAL_AS(__stpcpy_chk, char*(char*, const char*, std::size_t));
SYNDROME_REAL_AS(__strncpy_chk, char*(char*, const char*, std::size_t, std::size_t));
SYNDROME_REAL_AS(__strcat_chk, char*(char*, const char*, std::size_t));
SYNDROME_REAL_AS(__strncat_chk, char*(char*, const char*, std::size_t, std::size_t));

// The address that the loader's ifunc gave, or null while it is not known and must not be asked
// for: a lookup may need these functions itself.
template <typename Function>
auto ready(Function& real) {
  using Pointer = typename Function::Pointer;
  return reinterpret_cast<Pointer>(real.address.load(std::memory_order_relaxed));
}

void* move_bytes(void* to, const void* from, std::size_t bytes) {
  void* target = to;
  if (number_of(to) <= number_of(from) || number_of(to) >= number_of(from) + bytes) {
    asm volatile("rep movsb" : "+D"(target), "+S"(from), "+c"(bytes) : : "memory");
  } else {
    target = static_cast<char*>(to) + bytes - 1;
    from = static_cast<const char*>(from) + bytes - 1;
    asm volatile("std\n\trep movsb\n\tcld" : "+D"(target), "+S"(from), "+c"(bytes) : : "memory");
  }
  return to;
}

void* set_bytes(void* to, int value, std::size_t bytes) {
  void* target = to;
  asm volatile("rep stosb" : "+D"(target), "+c"(bytes) : "a"(value) : "memory");
  return to;
}

// Through volatile, so that no compiler makes a call of strlen out of it.
std::size_t count_bytes(const char* text, std::size_t most = SIZE_MAX) {
  const volatile char* at = text;
  std::size_t count = 0;
  while (count < most && at[count] != 0) ++count;
  return count;
}

int compare_bytes(const void* left, const void* right, std::size_t bytes) {
  const auto* const a = static_cast<const volatile unsigned char*>(left);
  const auto* const b = static_cast<const volatile unsigned char*>(right);
  for (std::size_t i = 0; i < bytes; ++i) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

std::size_t length_of(const char* text) {
  const auto real = ready(real_strlen);
  return real != nullptr ? real(text) : count_bytes(text);
}

std::size_t length_of(const char* text, std::size_t most) {
  const auto real = ready(real_strnlen);
  return real != nullptr ? real(text, most) : count_bytes(text, most);
}

// With the 0 that ends it.
void read_text(const char* text) {
  read_range(text, length_of(text) + 1);
}
void read_text(const char* text, std::size_t most) {
  const std::size_t length = length_of(text, most);
  read_range(text, length < most ? length + 1 : most);
}

void copied(const void* to, const void* from, std::size_t bytes) {
  read_range(from, bytes);
  write_range(to, bytes);
}

// How many bytes a comparison of two texts has looked at.
template <typename Same>
std::size_t compared(const char* left, const char* right, std::size_t most, Same same) {
  std::size_t count = 0;
  while (count < most) {
    const char a = left[count];
    const char b = right[count];
    ++count;
    if (a == 0 || !same(a, b)) break;
  }
  return count;
}
bool equal(char a, char b) {
  return a == b;
}
bool equal_letters(char a, char b) {
  const auto lower = [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + ('a' - 'A')) : letter;
  };
  return lower(a) == lower(b);
}

template <typename Same>
void read_compared(const char* left, const char* right, std::size_t most, Same same) {
  if (!recording()) return;
  const std::size_t bytes = compared(left, right, most, same);
  read_range(left, bytes);
  read_range(right, bytes);
}

template <typename... Text>
void read_texts(Text... texts) {
  if (recording()) (read_text(texts), ...);
}

// Copies of a text to `to`, where `bytes` of it are written and `read` of the source looked at.
template <typename Call>
char* copying_text(char* to, const char* from, std::size_t read, std::size_t written, Call call) {
  if (recording()) {
    read_range(from, read);
    write_range(to, written);
  }
  return call();
}

template <typename Call>
char* copying_all(char* to, const char* from, Call call) {
  if (!recording()) return call();
  const std::size_t bytes = length_of(from) + 1;
  return copying_text(to, from, bytes, bytes, call);
}

template <typename Call>
char* copying_most(char* to, const char* from, std::size_t most, Call call) {
  if (!recording()) return call();
  const std::size_t length = length_of(from, most);
  return copying_text(to, from, length < most ? length + 1 : most, most, call);
}

template <typename Call>
char* appending(char* to, const char* from, std::size_t most, Call call) {
  if (!recording()) return call();
  const std::size_t there = length_of(to);
  const std::size_t more = length_of(from, most);
  read_range(to, there + 1);
  return copying_text(to + there, from, more < most ? more + 1 : most, more + 1, call);
}

template <typename Call>
void* copying(void* to, const void* from, std::size_t bytes, Call call) {
  if (bytes != 0 && recording()) copied(to, from, bytes);
  return call();
}

template <typename Call>
void* setting(void* to, std::size_t bytes, Call call) {
  if (recording()) write_range(to, bytes);
  return call();
}

// A search reads up to and including what it finds.
template <typename Found>
Found* searched(const void* memory, std::size_t bytes, Found* found) {
  if (recording()) {
    const auto* const begin = static_cast<const char*>(memory);
    const auto* const at = static_cast<const char*>(static_cast<const void*>(found));
    read_range(memory, found != nullptr ? static_cast<std::size_t>(at - begin) + 1 : bytes);
  }
  return found;
}
char* searched_text(const char* text, char* found) {
  if (!recording()) return found;
  return searched(text, found != nullptr ? 0 : length_of(text) + 1, found);
}

}  // namespace

void* plain_memcpy(void* to, const void* from, std::size_t bytes) {
  const auto real = ready(real_memcpy);
  return real != nullptr ? real(to, from, bytes) : move_bytes(to, from, bytes);
}
void* plain_memmove(void* to, const void* from, std::size_t bytes) {
  const auto real = ready(real_memmove);
  return real != nullptr ? real(to, from, bytes) : move_bytes(to, from, bytes);
}
void* plain_memset(void* to, int value, std::size_t bytes) {
  const auto real = ready(real_memset);
  return real != nullptr ? real(to, value, bytes) : set_bytes(to, value, bytes);
}

SYNDROME_INTERPOSE void* memcpy(void* to, const void* from, std::size_t bytes) noexcept {
  return copying(to, from, bytes, [=] { return plain_memcpy(to, from, bytes); });
}
SYNDROME_INTERPOSE void* memmove(void* to, const void* from, std::size_t bytes) noexcept {
  return copying(to, from, bytes, [=] { return plain_memmove(to, from, bytes); });
}
SYNDROME_INTERPOSE void* mempcpy(void* to, const void* from, std::size_t bytes) noexcept {
  return copying(to, from, bytes,
                 [=] { return static_cast<char*>(plain_memcpy(to, from, bytes)) + bytes; });
}
SYNDROME_INTERPOSE void bcopy(const void* from, void* to, std::size_t bytes) noexcept {
  copying(to, from, bytes, [=] { return plain_memmove(to, from, bytes); });
}
SYNDROME_INTERPOSE void* memccpy(void* to, const void* from, int last, std::size_t bytes) noexcept {
  void* const end = real_memccpy(to, from, last, bytes);
  if (recording()) {
    copied(to, from,
           end != nullptr
               ? static_cast<std::size_t>(static_cast<char*>(end) - static_cast<char*>(to))
               : bytes);
  }
  return end;
}
SYNDROME_INTERPOSE void* memset(void* to, int value, std::size_t bytes) noexcept {
  return setting(to, bytes, [=] { return plain_memset(to, value, bytes); });
}
SYNDROME_INTERPOSE void bzero(void* to, std::size_t bytes) noexcept {
  setting(to, bytes, [=] { return plain_memset(to, 0, bytes); });
}
SYNDROME_INTERPOSE void explicit_bzero(void* to, std::size_t bytes) noexcept {
  setting(to, bytes, [=] { return real_explicit_bzero(to, bytes), to; });
}

// Which bytes a comparison needs is unspecified; a whole one may read all of them.
SYNDROME_INTERPOSE int memcmp(const void* left, const void* right, std::size_t bytes) noexcept {
  if (recording()) {
    read_range(left, bytes);
    read_range(right, bytes);
  }
  const auto real = ready(real_memcmp);
  return real != nullptr ? real(left, right, bytes) : compare_bytes(left, right, bytes);
}
SYNDROME_INTERPOSE int bcmp(const void* left, const void* right, std::size_t bytes) noexcept {
  return memcmp(left, right, bytes);
}

SYNDROME_INTERPOSE std::size_t strlen(const char* text) noexcept {
  const std::size_t length = length_of(text);
  if (recording()) read_range(text, length + 1);
  return length;
}
SYNDROME_INTERPOSE std::size_t strnlen(const char* text, std::size_t most) noexcept {
  const std::size_t length = length_of(text, most);
  if (recording()) read_range(text, length < most ? length + 1 : most);
  return length;
}

SYNDROME_INTERPOSE char* strcpy(char* to, const char* from) noexcept {
  return copying_all(to, from, [=] { return real_strcpy(to, from); });
}
SYNDROME_INTERPOSE char* stpcpy(char* to, const char* from) noexcept {
  return copying_all(to, from, [=] { return real_stpcpy(to, from); });
}
SYNDROME_INTERPOSE char* strncpy(char* to, const char* from, std::size_t most) noexcept {
  return copying_most(to, from, most, [=] { return real_strncpy(to, from, most); });
}
SYNDROME_INTERPOSE char* stpncpy(char* to, const char* from, std::size_t most) noexcept {
  return copying_most(to, from, most, [=] { return real_stpncpy(to, from, most); });
}
SYNDROME_INTERPOSE char* strcat(char* to, const char* from) noexcept {
  return appending(to, from, SIZE_MAX, [=] { return real_strcat(to, from); });
}
SYNDROME_INTERPOSE char* strncat(char* to, const char* from, std::size_t most) noexcept {
  return appending(to, from, most, [=] { return real_strncat(to, from, most); });
}
SYNDROME_INTERPOSE char* strdup(const char* text) noexcept {
  read_texts(text);
  char* const copy = real_strdup(text);
  if (copy != nullptr && recording()) write_range(copy, length_of(copy) + 1);
  return copy;
}
SYNDROME_INTERPOSE char* strndup(const char* text, std::size_t most) noexcept {
  if (recording()) read_text(text, most);
  char* const copy = real_strndup(text, most);
  if (copy != nullptr && recording()) write_range(copy, length_of(copy) + 1);
  return copy;
}

SYNDROME_INTERPOSE int strcmp(const char* left, const char* right) noexcept {
  read_compared(left, right, SIZE_MAX, equal);
  return real_strcmp(left, right);
}
SYNDROME_INTERPOSE int strncmp(const char* left, const char* right, std::size_t most) noexcept {
  read_compared(left, right, most, equal);
  return real_strncmp(left, right, most);
}
SYNDROME_INTERPOSE int strcasecmp(const char* left, const char* right) noexcept {
  read_compared(left, right, SIZE_MAX, equal_letters);
  return real_strcasecmp(left, right);
}
SYNDROME_INTERPOSE int strncasecmp(const char* left, const char* right, std::size_t most) noexcept {
  read_compared(left, right, most, equal_letters);
  return real_strncasecmp(left, right, most);
}
SYNDROME_INTERPOSE std::size_t strspn(const char* text, const char* accepted) noexcept {
  read_texts(text, accepted);
  return real_strspn(text, accepted);
}
SYNDROME_INTERPOSE std::size_t strcspn(const char* text, const char* rejected) noexcept {
  read_texts(text, rejected);
  return real_strcspn(text, rejected);
}

// string.h has these as overloads of its own; their names here lead to the C ones.
#define SYNDROME_AS(name) __asm__(#name)
SYNDROME_INTERPOSE void* find_byte(const void*, int, std::size_t) noexcept SYNDROME_AS(memchr);
SYNDROME_INTERPOSE void* find_last_byte(const void*, int, std::size_t) noexcept
    SYNDROME_AS(memrchr);
SYNDROME_INTERPOSE char* find_char(const char*, int) noexcept SYNDROME_AS(strchr);
SYNDROME_INTERPOSE char* find_last_char(const char*, int) noexcept SYNDROME_AS(strrchr);
SYNDROME_INTERPOSE char* find_char_or_end(const char*, int) noexcept SYNDROME_AS(strchrnul);
SYNDROME_INTERPOSE char* find_text(const char*, const char*) noexcept SYNDROME_AS(strstr);
SYNDROME_INTERPOSE char* find_any(const char*, const char*) noexcept SYNDROME_AS(strpbrk);

void* find_byte(const void* memory, int value, std::size_t bytes) noexcept {
  return searched(memory, bytes, real_memchr(memory, value, bytes));
}
void* find_last_byte(const void* memory, int value, std::size_t bytes) noexcept {
  if (recording()) read_range(memory, bytes);
  return real_memrchr(memory, value, bytes);
}
SYNDROME_INTERPOSE void* memmem(const void* memory, std::size_t bytes, const void* wanted,
                                std::size_t wanted_bytes) noexcept {
  if (recording()) {
    read_range(memory, bytes);
    read_range(wanted, wanted_bytes);
  }
  return real_memmem(memory, bytes, wanted, wanted_bytes);
}
char* find_char(const char* text, int value) noexcept {
  return searched_text(text, real_strchr(text, value));
}
char* find_last_char(const char* text, int value) noexcept {
  read_texts(text);
  return real_strrchr(text, value);
}
char* find_char_or_end(const char* text, int value) noexcept {
  return searched_text(text, real_strchrnul(text, value));
}
char* find_text(const char* text, const char* wanted) noexcept {
  read_texts(text, wanted);
  return real_strstr(text, wanted);
}
char* find_any(const char* text, const char* wanted) noexcept {
  read_texts(wanted);
  return searched_text(text, real_strpbrk(text, wanted));
}

// What the headers call with _FORTIFY_SOURCE; `room` is what the compiler knows of `to`.
SYNDROME_INTERPOSE void* __memcpy_chk(void* to, const void* from, std::size_t bytes,
                                      std::size_t room) noexcept {
  return copying(to, from, bytes, [=] { return real___memcpy_chk(to, from, bytes, room); });
}
SYNDROME_INTERPOSE void* __memmove_chk(void* to, const void* from, std::size_t bytes,
                                       std::size_t room) noexcept {
  return copying(to, from, bytes, [=] { return real___memmove_chk(to, from, bytes, room); });
}
SYNDROME_INTERPOSE void* __mempcpy_chk(void* to, const void* from, std::size_t bytes,
                                       std::size_t room) noexcept {
  return copying(to, from, bytes, [=] { return real___mempcpy_chk(to, from, bytes, room); });
}
SYNDROME_INTERPOSE void* __memset_chk(void* to, int value, std::size_t bytes,
                                      std::size_t room) noexcept {
  return setting(to, bytes, [=] { return real___memset_chk(to, value, bytes, room); });
}
SYNDROME_INTERPOSE char* __strcpy_chk(char* to, const char* from, std::size_t room) noexcept {
  return copying_all(to, from, [=] { return real___strcpy_chk(to, from, room); });
}
SYNDROME_INTERPOSE char* __stpcpy_chk(char* to, const char* from, std::size_t room) noexcept {
  return copying_all(to, from, [=] { return real___stpcpy_chk(to, from, room); });
}
SYNDROME_INTERPOSE char* __strncpy_chk(char* to, const char* from, std::size_t most,
                                       std::size_t room) noexcept {
  return copying_most(to, from, most, [=] { return real___strncpy_chk(to, from, most, room); });
}
SYNDROME_INTERPOSE char* __strcat_chk(char* to, const char* from, std::size_t room) noexcept {
  return appending(to, from, SIZE_MAX, [=] { return real___strcat_chk(to, from, room); });
}
SYNDROME_INTERPOSE char* __strncat_chk(char* to, const char* from, std::size_t most,
                                       std::size_t room) noexcept {
  return appending(to, from, most, [=] { return real___strncat_chk(to, from, most, room); });
}

}  // namespace syndrome::rt
