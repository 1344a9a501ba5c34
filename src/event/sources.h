// Functions whose results differ from run to run, whatever the schedule: time, random numbers, what
// the system says of a process, input. A deterministic block that calls one may give another result
// for a reason that no check looks at. The compiler pass records that such a function is called,
// which is otherwise a call into code without probes: "enter(extern time)", and its exit at once,
// before the call.
//
// Depends on nothing, because it is compiled into a plugin of clang.

#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace syndrome::sources {

/// What stands before the name where a call was recorded, and not the function itself.
inline constexpr std::string_view kExtern = "extern ";

/// Of the C library, by their whole names.
inline constexpr std::array<std::string_view, 58> kFunctions = {
    // time
    "time", "clock", "clock_gettime", "gettimeofday", "timespec_get", "times", "getrusage",
    // random numbers
    "rand", "rand_r", "random", "random_r", "drand48", "erand48", "lrand48", "nrand48", "mrand48",
    "jrand48", "arc4random", "arc4random_uniform", "arc4random_buf", "getrandom", "getentropy",
    // what the system says
    "getpid", "getppid", "gettid", "pthread_self", "thrd_current", "sched_getcpu", "getenv",
    "secure_getenv", "getloadavg", "tmpnam", "tempnam", "mkstemp", "mkdtemp",
    // input
    "read", "pread", "pread64", "readv", "preadv", "recv", "recvfrom", "recvmsg", "fread", "fgets",
    "fgetc", "getc", "_IO_getc", "getchar", "gets", "getline", "getdelim", "scanf", "fscanf",
    "vscanf", "vfscanf", "poll", "ppoll"};

/// The ends of qualified names, and how reports call them.
struct Method {
  std::string_view end;
  std::string_view name;
};
inline constexpr std::array<Method, 15> kMethods = {{
    {"system_clock::now", "std::chrono::system_clock::now"},
    {"steady_clock::now", "std::chrono::steady_clock::now"},
    {"high_resolution_clock::now", "std::chrono::high_resolution_clock::now"},
    {"random_device::operator()", "std::random_device"},
    {"random_device::_M_getval", "std::random_device"},
    {"this_thread::get_id", "std::this_thread::get_id"},
    {"std::hash<void*>::operator()", "std::hash<void*>"},
    {"std::istream::operator>>", "std::istream"},
    {"std::istream::get", "std::istream"},
    {"std::istream::getline", "std::istream"},
    {"std::istream::read", "std::istream"},
    {"System.nanoTime", "System.nanoTime"},
    {"System.currentTimeMillis", "System.currentTimeMillis"},
    {"Math.random", "Math.random"},
    {"Random.nextInt", "Random.nextInt"},
}};

/// A name of the C library as programs write it: the header may have put another one into the code
/// (__isoc99_scanf, __read_chk, __getdelim).
[[nodiscard]] constexpr std::string_view as_written(std::string_view name) {
  for (const std::string_view prefix : {"__isoc99_", "__isoc23_"}) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  constexpr std::string_view kChecked = "_chk";
  if (name.starts_with("__") && name.ends_with(kChecked)) {
    return name.substr(2, name.size() - 2 - kChecked.size());
  }
  return name == "__getdelim" ? name.substr(2) : name;
}

/// What reports call the source that a function is, as a trace names the function (with or without
/// parameters, namespaces and template arguments; Java's too); empty when it is none.
[[nodiscard]] constexpr std::string_view name_of(std::string_view function) {
  if (function.starts_with(kExtern)) function.remove_prefix(kExtern.size());
  // What stands before the parameters; operator() has a pair of its own.
  std::size_t open = function.find('(');
  constexpr std::string_view kCall = "operator()";
  if (const std::size_t call = function.find(kCall); call != std::string_view::npos) {
    open = call + kCall.size();
  }
  std::string_view name = function.substr(0, open);
  if (name.starts_with("::")) name.remove_prefix(2);
  const std::string_view plain = as_written(name.starts_with("std::") ? name.substr(5) : name);
  if (std::ranges::find(kFunctions, plain) != kFunctions.end()) return plain;
  for (const Method& method : kMethods) {
    if (name == method.name) return name;
    if (!name.ends_with(method.end)) continue;
    if (name.size() == method.end.size()) return method.name;
    const char before = name[name.size() - method.end.size() - 1];
    if (before == ':' || before == '.' || before == '/') return method.name;
  }
  // Templates show what they return.
  if (name.starts_with("std::basic_istream<") &&
      (name.find("& std::getline<") != std::string_view::npos ||
       name.find("& std::operator>>") != std::string_view::npos)) {
    return "std::istream";
  }
  return {};
}

}  // namespace syndrome::sources
