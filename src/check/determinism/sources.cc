#include "check/determinism/sources.h"

#include <algorithm>
#include <array>

namespace syndrome::check::determinism {
namespace {

/// Functions of the C library, by their whole name.
constexpr std::array<std::string_view, 50> kFunctions = {
    // time
    "time", "clock", "clock_gettime", "gettimeofday", "timespec_get", "times", "getrusage",
    // random numbers
    "rand", "rand_r", "random", "random_r", "drand48", "erand48", "lrand48", "nrand48", "mrand48",
    "jrand48", "arc4random", "arc4random_uniform", "arc4random_buf", "getrandom", "getentropy",
    // what the system says
    "getpid", "getppid", "gettid", "pthread_self", "thrd_current", "sched_getcpu", "getenv",
    "secure_getenv", "getloadavg", "tmpnam", "tempnam", "mkstemp", "mkdtemp",
    // input
    "read", "pread", "readv", "recv", "recvfrom", "recvmsg", "fread", "fgets", "fgetc", "getc",
    "getchar", "getline", "scanf", "fscanf", "poll"};

/// The ends of qualified names.
constexpr std::array<std::string_view, 11> kMethods = {"system_clock::now",
                                                       "steady_clock::now",
                                                       "high_resolution_clock::now",
                                                       "random_device::operator()",
                                                       "random_device::_M_getval",
                                                       "this_thread::get_id",
                                                       "std::hash<void*>::operator()",
                                                       "System.nanoTime",
                                                       "System.currentTimeMillis",
                                                       "Math.random",
                                                       "Random.nextInt"};

}  // namespace

bool is_source_of_nondeterminism(std::string_view function) {
  // What stands before the parameters; operator() has a pair of its own.
  std::size_t open = function.find('(');
  constexpr std::string_view kCall = "operator()";
  if (const std::size_t call = function.find(kCall); call != std::string_view::npos) {
    open = call + kCall.size();
  }
  std::string_view name = function.substr(0, open);
  if (name.starts_with("::")) name.remove_prefix(2);
  if (std::ranges::find(kFunctions, name) != kFunctions.end()) return true;
  if (name.starts_with("std::") &&
      std::ranges::find(kFunctions, name.substr(5)) != kFunctions.end()) {
    return true;
  }
  return std::ranges::any_of(kMethods, [&](std::string_view method) {
    if (!name.ends_with(method)) return false;
    if (name.size() == method.size()) return true;
    const char before = name[name.size() - method.size() - 1];
    return before == ':' || before == '.' || before == '/';
  });
}

}  // namespace syndrome::check::determinism
