// SYNDROME_OPTIONS: a program that somebody else starts (a test suite, a service) becomes
// `syndrome run OPTIONS -- PROGRAM ARGUMENTS`, in the same process, before anything of it has run.

#include "runtime/start.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime/log.h"
#include "runtime/session.h"
#include "runtime/sys.h"
#include "runtime/text.h"

namespace syndrome::rt {
namespace {

constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostOptions = kMostText / 2;  // of one letter each

const char* value_of(char* const* environment, const char* name) {
  const std::size_t length = strlen(name);
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
      return *environment + length + 1;
    }
  }
  return nullptr;
}

/// The tool lies beside the runtime: lib/syndrome/libsyndrome_rt.so, bin/syndrome.
bool find_tool(char (&path)[kMostText]) {
  Dl_info here{};
  if (dladdr(reinterpret_cast<void*>(&start_tool), &here) == 0 || here.dli_fname == nullptr) {
    return false;
  }
  constexpr char kFromHere[] = "/../../bin/syndrome";
  const char* const slash = strrchr(here.dli_fname, '/');
  const std::size_t folder =
      slash == nullptr ? 0 : static_cast<std::size_t>(slash - here.dli_fname);
  if (slash == nullptr || folder + sizeof(kFromHere) > sizeof(path)) return false;
  memcpy(path, here.dli_fname, folder);
  append_text(path + folder, kFromHere);
  struct stat status{};
  return stat(path, &status) == 0;
}

/// The program as it was called, if that leads to it, so that it sees the same argv[0].
const char* find_program(const char* called, char (&path)[kMostText]) {
  struct stat named{};
  struct stat self{};
  if (called != nullptr && strchr(called, '/') != nullptr && stat(called, &named) == 0 &&
      stat("/proc/self/exe", &self) == 0 && named.st_dev == self.st_dev &&
      named.st_ino == self.st_ino) {
    return called;
  }
  const long length = sys::call(SYS_readlink, sys::address_of("/proc/self/exe"),
                                sys::address_of(path), static_cast<long>(sizeof(path)) - 1);
  if (length <= 0) return nullptr;
  path[length] = 0;
  return path;
}

}  // namespace

void start_tool(int count, char** arguments, char** environment) {
  const char* const options = value_of(environment, kOptionsVariable);
  if (options == nullptr || *options == 0 || count < 1 || getauxval(AT_SECURE) != 0) {
    return;
  }
  static char text[kMostText];
  static char tool[kMostText];
  static char program[kMostText];
  if (strlen(options) + 1 > sizeof(text)) {
    complain("SYNDROME_OPTIONS is too long; the program runs unchecked");
    return;
  }
  const char* const called = find_program(arguments[0], program);
  if (!find_tool(tool) || called == nullptr) {
    complain(
        "SYNDROME_OPTIONS: there is no bin/syndrome beside the runtime; the program runs "
        "unchecked: ",
        tool);
    return;
  }
  const auto words = static_cast<std::size_t>(count);
  const std::size_t bytes = (words + kMostOptions + 8) * sizeof(char*);
  char** const line = static_cast<char**>(
      sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (line == nullptr) return;
  std::size_t length = 0;
  static char name[] = "syndrome";
  static char run[] = "run";
  static char end[] = "--";
  line[length++] = name;
  line[length++] = run;
  strcpy(text, options);
  char* rest = nullptr;
  for (char* word = strtok_r(text, " \t\n", &rest); word != nullptr;
       word = strtok_r(nullptr, " \t\n", &rest)) {
    line[length++] = word;
  }
  line[length++] = end;
  line[length++] = const_cast<char*>(called);
  for (std::size_t i = 1; i < words; ++i) line[length++] = arguments[i];
  line[length] = nullptr;
  sys::call(SYS_execve, sys::address_of(tool), sys::address_of(static_cast<void*>(line)),
            sys::address_of(static_cast<void*>(environment)));
  complain("SYNDROME_OPTIONS: the program runs unchecked, because this cannot be started: ", tool);
  sys::unmap(static_cast<void*>(line), bytes);
}

}  // namespace syndrome::rt
