// How a process and its threads come to the session: the folder, the process's slot, its rings, its
// metadata, and the units of its modules.

#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "event/unit.h"
#include "runtime/filter.h"
#include "runtime/follow.h"
#include "runtime/live.h"
#include "runtime/noise.h"
#include "runtime/probes.h"
#include "runtime/session_files.h"
#include "runtime/shards.h"
#include "runtime/start.h"
#include "runtime/sys.h"
#include "runtime/text.h"
#include "runtime/thread.h"

namespace syndrome::rt {

Process process;

namespace {

std::atomic<std::uint32_t> attach_lock{0};
std::atomic<std::uint32_t> meta_lock{0};

enum class Attached : std::uint32_t { kNo, kYes, kFailed };
std::atomic<Attached> attached{Attached::kNo};

char session_folder[kMaxPath];  // empty: none

bool begins_with(const char* text, const char* start) {
  while (*start != 0 && *text == *start) ++text, ++start;
  return *start == 0;
}

/// Takes SYNDROME_SESSION out of the environment, so that the program sees its own. In a program
/// that has more rights than its caller (AT_SECURE: setuid, setgid, capabilities), nothing of ours
/// there counts, and all of it goes: what it starts would obey it.
void take_variable() {
  if (environ == nullptr) return;
  constexpr std::size_t kLength = sizeof(kSessionVariable) - 1;
  const bool secure = getauxval(AT_SECURE) != 0;
  char** to = environ;
  for (char** from = environ; *from != nullptr; ++from) {
    if (secure && begins_with(*from, "SYNDROME_")) continue;
    if (begins_with(*from, kSessionVariable) && (*from)[kLength] == '=') {
      const char* value = *from + kLength + 1;
      std::size_t length = 0;
      while (value[length] != 0 && length + 1 < kMaxPath) {
        session_folder[length] = value[length];
        ++length;
      }
      session_folder[length] = 0;
    } else {
      *to++ = *from;
    }
  }
  *to = nullptr;
}

struct Unit {
  const void* address;
  const SyndromeGlobal* globals;
  std::uint64_t count;
};

void write_unit(const Unit& unit) {
  const auto* const header = static_cast<const unit::Header*>(unit.address);
  const auto address = reinterpret_cast<std::uintptr_t>(unit.address);
  const Piece pieces[] = {{&address, sizeof(address)}, {unit.address, header->bytes}};
  meta(wire::Meta::kUnit, pieces, 2);
  // In pieces, so that a table of any length needs no memory.
  struct Row {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t unit;
    std::uint64_t name;
  };
  constexpr std::size_t kRows = 64;
  Row rows[kRows];
  std::size_t filled = 0;
  for (std::uint64_t i = 0; i < unit.count; ++i) {
    const SyndromeGlobal& global = unit.globals[i];
    rows[filled++] = {reinterpret_cast<std::uintptr_t>(global.address), global.bytes, address,
                      global.name};
    if (filled == kRows || i + 1 == unit.count) {
      const Piece piece{rows, filled * sizeof(Row)};
      meta(wire::Meta::kGlobals, &piece, 1);
      filled = 0;
    }
  }
}

/// Appends to this process's metadata what its parent's says of modules, units and strings: a
/// forked child has the same. Its own constructors do not run again, and the units of a library
/// that the parent has closed are not in memory any more.
void copy_meta_of(std::uint32_t parent) {
  const WithoutSizeSignal without_size_signal;
  Path path;
  char* end = append_text(path.text, session_folder);
  *end++ = '/';
  append_text(append_number(end, parent), ".meta");
  const int from = sys::open(path.text, O_RDONLY | kOpenFlags);
  const int to = sys::open(path_of("meta", true).text, O_WRONLY | O_APPEND | kOpenFlags);
  std::uint32_t head[2];
  while (from >= 0 && to >= 0 && sys::read(from, head, sizeof(head)) == sizeof(head)) {
    const auto type = static_cast<wire::Meta>(head[0]);
    const bool wanted = type == wire::Meta::kUnit || type == wire::Meta::kGlobals ||
                        type == wire::Meta::kString || type == wire::Meta::kModule;
    if (wanted) sys::write(to, head, sizeof(head));
    char buffer[4096];
    for (std::size_t left = head[1]; left > 0;) {
      const long got = sys::read(from, buffer, left < sizeof(buffer) ? left : sizeof(buffer));
      if (got <= 0) break;
      if (wanted) sys::write(to, buffer, static_cast<std::size_t>(got));
      left -= static_cast<std::size_t>(got);
    }
  }
  if (from >= 0) sys::close(from);
  if (to >= 0) sys::close(to);
}

/// 1 + the slot of the process that this one was forked from; 0: of none.
std::uint32_t forked_from = 0;

void write_process() {
  struct {
    std::uint32_t abi, pid, parent, zero;
    std::uint64_t hz, counter, realtime;
  } start{};
  start.abi = wire::kAbi;
  start.pid = sys::getpid();
  start.parent = static_cast<std::uint32_t>(sys::call(SYS_getppid));
  start.counter = read_counter();
  timespec now{};
  sys::call(SYS_clock_gettime, CLOCK_REALTIME, sys::address_of(&now));
  start.realtime = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                   static_cast<std::uint64_t>(now.tv_nsec);
  char command[4096];
  long bytes = 0;
  const int fd = sys::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    bytes = sys::read(fd, command, sizeof(command));
    sys::close(fd);
  }
  const Piece pieces[] = {{&start, sizeof(start)},
                          {command, static_cast<std::size_t>(bytes > 0 ? bytes : 0)}};
  meta(wire::Meta::kProcess, pieces, 2);
}

/// 0: unknown. A forked child that has no /proc any more is where its parent was.
std::uint32_t pid_space() {
  static std::uint32_t known = 0;
  struct stat state{};
  if (sys::call(SYS_stat, sys::address_of(kPidSpacePath), sys::address_of(&state)) == 0) {
    known = static_cast<std::uint32_t>(state.st_ino);
  }
  return known;
}

/// Whether this is ours or root's, and nobody else can write to it.
bool trusted(const struct stat& state) {
  const auto user = static_cast<uid_t>(sys::call(SYS_geteuid));
  return (state.st_uid == user || state.st_uid == 0) && (state.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/// A session folder that another user has made would let them look into our memory. What is in a
/// folder that is ours is nobody else's either. A forked child is in the folder of its parent,
/// which was looked at before share_session() may have given it away.
bool folder_is_trusted() {
  struct stat state{};
  if (forked_from != 0) return true;
  return sys::call(SYS_lstat, sys::address_of(session_folder), sys::address_of(&state)) == 0 &&
         S_ISDIR(state.st_mode) && trusted(state);
}

bool open_session() {
  const Path path = path_of("session", false);
  const int fd = sys::open(path.text, O_RDWR | kOpenFlags);
  if (fd < 0) {
    complain("the recorder's folder cannot be opened; this process is not recorded: ", path.text);
    return false;
  }
  struct stat state{};
  if (!folder_is_trusted() ||
      sys::call(SYS_fstat, fd, sys::address_of(static_cast<void*>(&state))) != 0 ||
      !S_ISREG(state.st_mode) || state.st_size < static_cast<off_t>(sizeof(SessionHeader))) {
    complain("the recorder's folder is another user's, or not one; this process is not recorded: ",
             session_folder);
    sys::close(fd);
    return false;
  }
  auto* const session = static_cast<SessionHeader*>(
      sys::map(sizeof(SessionHeader), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  sys::close(fd);
  if (session == nullptr) return false;
  if (session->magic != kSessionMagic || session->abi != wire::kAbi) {
    complain(
        "this program's runtime and `syndrome record` are of different versions; build the "
        "program again with the `syndrome c++` that belongs to it. Not recorded.");
    sys::unmap(session, sizeof(SessionHeader));
    return false;
  }
  if (session->stop.load(std::memory_order_relaxed) != 0) return false;
  const std::uint32_t slot = session->processes.fetch_add(1, std::memory_order_acq_rel);
  if (slot >= kMaxProcesses) return false;
  process.slot = slot;
  process.ring_words = session->ring_words;
  process.exact = session->order == Order::kExact;
  process.pinned = process.exact || session->noise != 0;
  __atomic_store_n(&__syndrome_pinned, process.pinned ? 1u : 0u, __ATOMIC_RELAXED);
  const Path meta_path = path_of("meta", true);
  const int created = sys::open(meta_path.text, O_WRONLY | O_CREAT | kOpenFlags, 0600);
  if (created >= 0) sys::close(created);
  if (created < 0 || !make_rings_file()) {
    complain("cannot write into the recorder's folder; this process is not recorded: ",
             session_folder);
    session->slots[slot].pid.store(kNoProcess, std::memory_order_release);
    return false;
  }
  process.session = session;
  session->slots[slot].mode.store(begin_mode(), std::memory_order_relaxed);
  make_filter();
  write_process();
  if (session->noise != 0) {
    const Piece seed{&session->noise_seed, sizeof(session->noise_seed)};
    meta(wire::Meta::kNoise, &seed, 1);
    noise_start(session->noise_seed);
  }
  if (forked_from != 0) copy_meta_of(forked_from - 1);
  const std::uint32_t space = pid_space();
  process.foreign = space != 0 && session->pid_space != 0 && space != session->pid_space;
  session->slots[slot].space.store(space, std::memory_order_relaxed);
  session->slots[slot].pid.store(sys::getpid(), std::memory_order_release);
  return true;
}

}  // namespace

Path path_of(const char* name, bool of_process) {
  Path path;
  char* end = append_text(path.text, session_folder);
  *end++ = '/';
  if (of_process) {
    end = append_number(end, process.slot);
    *end++ = '.';
  }
  append_text(end, name);
  return path;
}

bool too_early() {
  return attached.load(std::memory_order_acquire) == Attached::kNo && session_folder[0] == 0 &&
         environ == nullptr;
}

bool attach() {
  if (attached.load(std::memory_order_acquire) == Attached::kYes) return true;
  if (attached.load(std::memory_order_acquire) == Attached::kFailed || too_early()) return false;
  bool first = false;
  {
    const Lock lock(attach_lock);
    if (attached.load(std::memory_order_relaxed) == Attached::kNo) {
      if (session_folder[0] == 0) take_variable();
      const bool ok = session_folder[0] != 0 && open_session();
      attached.store(ok ? Attached::kYes : Attached::kFailed, std::memory_order_release);
      first = ok;
    }
  }
  if (first) {
    if (process.follows) settle_before_death();
    note_before_death();
    modules_changed();
    check_allocator();
  }
  return attached.load(std::memory_order_acquire) == Attached::kYes;
}

void detach_child() {
  attach_lock.store(0, std::memory_order_relaxed);
  meta_lock.store(0, std::memory_order_relaxed);
  if (process.session != nullptr) {
    forget_rings();
    sys::unmap(process.session, sizeof(SessionHeader));
    forked_from = process.slot + 1;
  }
  process = {};
  attached.store(Attached::kNo, std::memory_order_relaxed);
}

void meta(wire::Meta type, const Piece* pieces, std::size_t count) {
  if (process.session == nullptr) return;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].bytes;
  const std::uint64_t zero = 0;
  const std::size_t padding = (8 - bytes % 8) % 8;
  const std::uint32_t head[2] = {static_cast<std::uint32_t>(type),
                                 static_cast<std::uint32_t>(bytes + padding)};
  const Lock lock(meta_lock);
  const WithoutSizeSignal without_size_signal;
  const Path path = path_of("meta", true);
  const int fd = sys::open(path.text, O_WRONLY | O_APPEND | kOpenFlags);
  if (fd < 0) return;
  bool whole = sys::write(fd, head, sizeof(head)) == static_cast<long>(sizeof(head));
  for (std::size_t i = 0; i < count && whole; ++i) {
    const auto* data = static_cast<const char*>(pieces[i].data);
    std::size_t left = pieces[i].bytes;
    while (left > 0 && whole) {
      const long written = sys::write(fd, data, left);
      whole = written > 0;
      if (!whole) break;
      data += written;
      left -= static_cast<std::size_t>(written);
    }
  }
  if (whole && padding != 0) (void)sys::write(fd, &zero, padding);
  sys::close(fd);
}

void note_end(wire::EndHow how, int number, wire::EndSaidBy said_by) {
  if (process.session == nullptr) return;
  const bool known = tls.state == ThreadState::kOn;
  const std::uint32_t record[] = {static_cast<std::uint32_t>(wire::Meta::kEnded),
                                  4 * sizeof(std::uint32_t),
                                  static_cast<std::uint32_t>(how),
                                  static_cast<std::uint32_t>(number),
                                  known ? tls.number : wire::kNoThread,
                                  static_cast<std::uint32_t>(said_by)};
  constexpr int kTries = 1000;
  for (int i = 0; meta_lock.exchange(1, std::memory_order_acquire) != 0; ++i) {
    if (i == kTries) return;
    sys::yield();
  }
  const WithoutSizeSignal without_size_signal;
  const int fd = sys::open(path_of("meta", true).text, O_WRONLY | O_APPEND | kOpenFlags);
  if (fd >= 0) {
    (void)sys::write(fd, record, sizeof(record));
    sys::close(fd);
  }
  meta_lock.store(0, std::memory_order_release);
}

std::uint32_t intern(const char* text) {
  static std::atomic<std::uint32_t> count{0};
  const std::uint64_t number = count.fetch_add(1, std::memory_order_relaxed);
  const Piece pieces[] = {{&number, sizeof(number)}, {text, __builtin_strlen(text)}};
  meta(wire::Meta::kString, pieces, 2);
  return static_cast<std::uint32_t>(number);
}

void thread_named(const char* name) {
  if (process.session == nullptr || tls.state != ThreadState::kOn) return;
  const std::uint64_t head[2] = {tls.number, tls.tid};
  const Piece pieces[] = {{head, sizeof(head)}, {name, __builtin_strlen(name)}};
  meta(wire::Meta::kThread, pieces, 2);
}

void complain(const char* text, const char* detail) {
  char line[2048];
  char* end = append_text(line, "syndrome: ");
  const auto add = [&end, &line](const char* more) {
    while (*more != 0 && end < line + sizeof(line) - 2) *end++ = *more++;
  };
  add(text);
  if (detail != nullptr) add(detail);
  *end++ = '\n';
  sys::write(2, line, static_cast<std::size_t>(end - line));
}

bool process_recorded() {
  return process.session != nullptr;
}

void share_session(std::uint32_t user) {
  // Only what is root's: a recorder of another user must be able to come in, whoever we become.
  const auto is_root = [](const char* path) {
    struct stat state{};
    return sys::call(SYS_lstat, sys::address_of(path), sys::address_of(&state)) == 0 &&
           state.st_uid == 0;
  };
  if (process.session == nullptr || user == 0 || user == UINT32_MAX) return;
  if (sys::call(SYS_geteuid) != 0 || !is_root(session_folder)) return;
  const Path files[] = {path_of("session", false), path_of("meta", true), path_of("rings", true)};
  for (const Path& file : files) {
    sys::call(SYS_lchown, sys::address_of(file.text), static_cast<long>(user), -1);
  }
  sys::call(SYS_chown, sys::address_of(session_folder), static_cast<long>(user), -1);
}

const char* session_path() {
  if (attached.load(std::memory_order_acquire) == Attached::kNo) {
    const Lock lock(attach_lock);
    if (session_folder[0] == 0) take_variable();
  }
  return session_folder[0] == 0 ? nullptr : session_folder;
}

}  // namespace syndrome::rt

namespace {

/// Blocks, units or sets that somebody has declared.
bool has_annotations(const syndrome::unit::Header& unit) {
  using namespace syndrome;
  constexpr std::uint32_t kDeclared =
      unit::kAtomic | unit::kDeterministic | unit::kUnitOfWork | unit::kSetMember;
  const auto* const functions = reinterpret_cast<const unit::Function*>(&unit + 1);
  for (std::uint32_t i = 0; i < unit.functions; ++i) {
    if ((functions[i].flags & kDeclared) != 0) return true;
  }
  return false;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void __syndrome_unit(
    const void* unit, const SyndromeGlobal* globals, std::uint64_t count) {
  using namespace syndrome;
  const auto* const header = static_cast<const unit::Header*>(unit);
  if (header->magic != unit::kMagic || header->abi != wire::kAbi) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      const bool named = header->magic == unit::kMagic && header->name != 0;
      rt::complain(
          "this file was compiled by another version of `syndrome c++` than the runtime "
          "that is loaded; compile it again. Its accesses are not recorded: ",
          named ? static_cast<const char*>(unit) + header->name : "(unknown)");
    }
    return;
  }
  const rt::Inside inside;
  // The first unit brings its process to the session.
  if (!rt::attach()) return;
  rt::write_unit({unit, globals, count});
  if (has_annotations(*header)) rt::leave_flight();
  rt::follow_unit(header);
  rt::learn_blocks();
}

namespace {

// So that the program's own environment is what its constructors and main() see, also when nothing
// instrumented runs before them.
__attribute__((constructor(101))) void begin(int count, char** arguments, char** environment) {
  if (syndrome::rt::session_path() == nullptr) {
    syndrome::rt::start_tool(count, arguments, environment);
  }
}

}  // namespace
