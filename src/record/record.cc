#include "record/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "record/output.h"
#include "record/recorder.h"
#include "record/session.h"

namespace syndrome::record {
namespace {

void complain(const std::string& message) {
  fmt::print(stderr, "syndrome: {}\n", message);
  std::fflush(stderr);
}

struct Pipe {
  int read = -1;
  int write = -1;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{ends[0], ends[1]};
}

// Signals. The terminal sends its own to the program as well, because it is in the same group; what
// another process sends to `syndrome record` alone is passed on.
constexpr std::array kForwarded = {SIGINT,  SIGQUIT, SIGTERM, SIGHUP,
                                   SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
volatile std::sig_atomic_t program = 0;
volatile std::sig_atomic_t asked_to_end = 0;
volatile std::sig_atomic_t in_a_hurry = 0;

void forward(int signal, siginfo_t* info, void*) {
  if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) asked_to_end = 1;
  // Who sends these may send SIGKILL soon; and who asks again does not want to wait.
  if (signal == SIGTERM || signal == SIGHUP || (signal == SIGINT && program == 0)) in_a_hurry = 1;
  if (info->si_code <= 0 && program > 0) ::kill(program, signal);
}

using Actions = std::array<struct sigaction, kForwarded.size()>;

Actions actions_now() {
  Actions actions{};
  for (std::size_t i = 0; i < kForwarded.size(); ++i) {
    ::sigaction(kForwarded[i], nullptr, &actions[i]);
  }
  return actions;
}

void set_actions(const Actions& actions) {
  for (std::size_t i = 0; i < kForwarded.size(); ++i) {
    ::sigaction(kForwarded[i], &actions[i], nullptr);
  }
}

/// While one exists.
class ForwardSignals {
 public:
  ForwardSignals() : before_(actions_now()) {
    for (const int signal : kForwarded) {
      struct sigaction action{};
      action.sa_sigaction = forward;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      ::sigaction(signal, &action, nullptr);
    }
  }
  ~ForwardSignals() { set_actions(before_); }
  ForwardSignals(const ForwardSignals&) = delete;
  ForwardSignals& operator=(const ForwardSignals&) = delete;

 private:
  Actions before_;
};

/// While one exists, none of them comes: it waits.
class HoldSignals {
 public:
  HoldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : kForwarded) sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &before_);
  }
  ~HoldSignals() { release(); }
  HoldSignals(const HoldSignals&) = delete;
  HoldSignals& operator=(const HoldSignals&) = delete;
  void release() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

/// As whoever called us had it: handlers become SIG_DFL by exec, what was ignored stays ignored.
[[noreturn]] void become(const Options& options, const std::string& session, int failed,
                         void (*on_file_size)(int)) {
  if (session.empty()) {
    ::unsetenv(rt::kSessionVariable);
    ::unsetenv(rt::kOptionsVariable);  // the program would try again, and again
  } else {
    ::setenv(rt::kSessionVariable, session.c_str(), 1);
  }
  if (options.ignore_pipe) ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, on_file_size);
  std::vector<char*> arguments;
  for (const std::string& argument : options.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(failed, &error, sizeof(error));
  ::_exit(error == ENOENT ? 127 : 126);
}

struct Recording {
  Session session;
  pid_t recorder;
  Pipe ended;
  Pipe report;
};

/// Starts the recorder, or says why not.
Result<Recording> start(const Options& options, Output file) {
  Result<Session> session =
      Session::create(options.buffer / sizeof(wire::Word), options.order, options.checked);
  if (!session) {
    file.remove_unused(options.output);
    return session.error();
  }
  session->header().flight = options.flight ? 1 : 0;
  session->header().window_every = options.window_every;
  session->header().noise_seed = options.noise.value_or(0);
  session->header().noise = options.noise ? 1 : 0;
  const std::optional<Pipe> ended = make_pipe();
  const std::optional<Pipe> report = make_pipe();
  const pid_t pid = ended && report ? ::fork() : -1;
  if (pid < 0) {
    const int error = errno;
    // First what may be scarce: the program and the removal of the folder need some, too.
    for (const std::optional<Pipe>& pipe : {ended, report}) {
      if (!pipe) continue;
      ::close(pipe->read);
      ::close(pipe->write);
    }
    session->remove();
    file.remove_unused(options.output);
    return Error{fmt::format("the recorder cannot be started: {}", system_text(error))};
  }
  if (pid == 0) {
    ::setsid();
    for (const int signal : kForwarded) ::signal(signal, SIG_IGN);
    ::signal(SIGPIPE, SIG_IGN);
    ::prctl(PR_SET_NAME, "syndrome-record");
    ::close(ended->write);
    ::close(report->read);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) {
      const int nothing = ::open("/dev/null", O_RDWR);
      ::dup2(nothing, stream);
      ::close(nothing);
    }
    session->header().recorder = static_cast<std::uint32_t>(::getpid());
    // It holds some files of every process that is recorded.
    if (rlimit files{}; ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
      files.rlim_cur = files.rlim_max;
      ::setrlimit(RLIMIT_NOFILE, &files);
    }
    if (rlimit size{}; options.most_bytes != 0 && ::getrlimit(RLIMIT_FSIZE, &size) == 0) {
      size.rlim_cur = std::min<rlim_t>(size.rlim_cur, options.most_bytes);
      ::setrlimit(RLIMIT_FSIZE, &size);
    }
    run_recorder(*session, options.output, std::move(file), options.make_taker, ended->read,
                 report->write);
    session->remove();
    ::_exit(0);
  }
  // Both write it: whoever is first, it is there before the program starts.
  session->header().recorder = static_cast<std::uint32_t>(pid);
  ::close(ended->read);
  ::close(report->write);
  return Recording{std::move(*session), pid, *ended, *report};
}

/// Wakes the recorder, if it sleeps, to see what has changed.
void ring(rt::SessionHeader& header) {
  header.doorbell.fetch_add(1, std::memory_order_seq_cst);
  if (header.sleeping.load(std::memory_order_seq_cst) == 0) return;
  ::syscall(SYS_futex, &header.doorbell, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

std::string scaled(std::uint64_t number) {
  if (number < 10'000) return std::to_string(number);
  if (number < 10'000'000) return fmt::format("{:.1f} thousand", static_cast<double>(number) / 1e3);
  return fmt::format("{:.1f} million", static_cast<double>(number) / 1e6);
}

void report(const Options& options, const Summary& summary) {
  if (summary.processes == 0) {
    complain(fmt::format(
        "nothing that was built with `syndrome cc` or `syndrome c++` has run, so there is no trace "
        "in {}. Build the program with CC=\"syndrome cc\" CXX=\"syndrome c++\" and try again.",
        options.output));
    return;
  }
  if (options.quiet || summary.failed != 0 || ::isatty(STDERR_FILENO) == 0) return;
  const std::string others =
      summary.processes > 1 ? fmt::format(" and {}.PID", options.output) : std::string();
  complain(fmt::format("{} words of {} thread{} in {}{}, {:.1f} MB. Next: syndrome check {}",
                       scaled(summary.words), summary.threads, summary.threads == 1 ? "" : "s",
                       options.output, others, static_cast<double>(summary.bytes) / 1e6,
                       options.output));
}

/// How the program ended. A recorder that dies before it is buried at once: a thread that waits
/// for room asks whether there is still such a process, and one that is dead but not buried counts.
Ended wait_for(pid_t pid, Recording* recording) {
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) return {};
    if (ended == pid && recording != nullptr) {
      recording->session.header().status.store(static_cast<std::uint32_t>(status) + 1,
                                               std::memory_order_release);
    }
    if (ended == pid && WIFSIGNALED(status)) {
      return {.exit_code = 128 + WTERMSIG(status), .killed = true};
    }
    if (ended == pid) return {.exit_code = WEXITSTATUS(status)};
    if (recording != nullptr && ended == recording->recorder) {
      recording->session.header().stop.store(1, std::memory_order_seq_cst);
    }
  }
}

}  // namespace

Ended record(const Options& options) {
  // A trace that may not grow any further (ulimit -f) is an error of a write, not our end.
  void (*const on_file_size)(int) = ::signal(SIGXFSZ, SIG_IGN);
  Result<Output> file = Output::claim(options.output);
  if (file && !file->other().empty()) {
    complain(fmt::format(
        "{} is being written by {}; wait for its end, or record into another file with -o",
        options.output, file->other()));
    return {.exit_code = 2};
  }
  Result<Recording> recording = file ? start(options, std::move(*file)) : file.error();
  if (!recording) {
    complain(fmt::format("{}: {}; the program runs unrecorded", options.output,
                         recording.error().message));
  }
  if (recording && options.noise && !options.quiet) {
    complain(fmt::format("noise of seed {0}; --noise={0} makes the same", *options.noise));
  }
  const std::optional<Pipe> failed = make_pipe();
  if (!failed) {
    complain(fmt::format("cannot start the program: {}", system_text(errno)));
    return {.exit_code = 126};
  }
  // Between the start of the program and the time when we know whom to pass them on to, one would
  // end us alone, and nobody would be told what was found.
  std::optional<HoldSignals> held(std::in_place);
  const Actions of_the_program = actions_now();
  if (options.set_handlers) options.set_handlers();
  const pid_t pid = ::fork();
  if (pid < 0) {
    complain(fmt::format("cannot start the program: {}", system_text(errno)));
    return {.exit_code = 126};
  }
  if (pid == 0) {
    set_actions(of_the_program);
    held->release();
    become(options, recording ? recording->session.folder() : std::string(), failed->write,
           on_file_size);
  }
  program = pid;
  asked_to_end = 0;
  in_a_hurry = 0;
  if (recording) {
    recording->session.header().program.store(static_cast<std::uint32_t>(pid),
                                              std::memory_order_release);
  }
  const ForwardSignals forwarding;
  held.reset();
  ::close(failed->write);
  int error = 0;
  const bool started = ::read(failed->read, &error, sizeof(error)) <= 0;
  ::close(failed->read);
  if (!started) complain(fmt::format("cannot run {}: {}", options.command[0], system_text(error)));
  Ended result = wait_for(pid, recording ? &*recording : nullptr);
  program = 0;
  if (!recording) {
    result.asked_to_end = asked_to_end != 0;
    result.in_a_hurry = in_a_hurry != 0;
    return result;
  }
  ::close(recording->ended.write);
  ring(recording->session.header());
  Summary summary;
  const ssize_t bytes = ::read(recording->report.read, &summary, sizeof(summary));
  if (bytes != static_cast<ssize_t>(sizeof(summary))) {
    complain(fmt::format("the recorder ended before the program; what is in {} may be cut off",
                         options.output));
    recording->session.remove();
  } else {
    if (started) report(options, summary);
    // It has nothing more to do; whoever asks for the memory of all that ran is told of it, too.
    if (summary.running == 0) {
      while (::waitpid(recording->recorder, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
  result.asked_to_end = asked_to_end != 0;
  result.in_a_hurry = in_a_hurry != 0;
  return result;
}

}  // namespace syndrome::record
