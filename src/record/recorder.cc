#include "record/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "record/process.h"

namespace syndrome::record {
namespace {

void complain(const std::string& message) {
  const std::string line = "syndrome: " + message + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

class Recorder {
 public:
  Recorder(Session& session, std::string output, Output file, const MakeTaker& make_taker,
           int ended, int report)
      : session_(session),
        output_(std::move(output)),
        file_(std::move(file)),
        make_taker_(make_taker),
        ended_(ended),
        report_(report) {}

  void run();

 private:
  void discover();
  [[nodiscard]] Result<Output> claim(std::uint32_t pid, std::string& name);
  [[nodiscard]] bool work(bool all, bool ended);
  void give_up(const std::string& file, const Error& error);
  void sleep(std::uint32_t bell);
  [[nodiscard]] bool program_ended();
  void tell();

  Session& session_;
  std::string output_;
  Output file_;  // until the first process comes
  const MakeTaker& make_taker_;
  std::set<std::string> names_;  // of the other processes' traces
  int ended_;
  int report_;
  bool told_ = false;
  bool stopped_ = false;
  // Short enough that a thread which fills its ring at a gigabyte a second rarely has to ring. When
  // nothing comes, each pause is twice as long: to look in costs 5 to 20 us of the cores that the
  // program uses. Who needs us before (for room, for an answer, at the end) rings.
  static constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(500);
  static constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(8);

  std::chrono::nanoseconds pause_ = kShortest;  // of the next sleep()
  std::uint32_t seen_ = 0;
  std::vector<std::unique_ptr<Process>> processes_;
  Summary summary_;
  // Packing is most of the work, and the program's threads wait while it is behind.
  Team team_{std::clamp(std::thread::hardware_concurrency(), 1u, 4u)};
};

void Recorder::give_up(const std::string& file, const Error& error) {
  if (stopped_) return;
  stopped_ = true;
  summary_.failed = 1;
  session_.header().stop.store(1, std::memory_order_seq_cst);
  complain(
      fmt::format("{}: {}; the program goes on, but is no longer recorded", file, error.message));
  for (const auto& process : processes_) process->wake_all();
}

/// The file for the trace of another process, and its name.
Result<Output> Recorder::claim(std::uint32_t pid, std::string& name) {
  if (summary_.processes == 0) {
    name = output_;
    // A script may have cleared away what was there before it started the program.
    if (file_.is_at(output_)) return std::exchange(file_, Output());
    Result<Output> again = Output::claim(output_);
    if (again && !again->other().empty()) {
      return Error{fmt::format("is being written by {}", again->other())};
    }
    return again;
  }
  constexpr unsigned kMostNames = 100;
  const std::string base = fmt::format("{}.{}", output_, pid);
  for (unsigned number = 1;; ++number) {
    name = number == 1 ? base : fmt::format("{}.{}", base, number);
    if (names_.contains(name)) continue;
    Result<Output> file = Output::claim(name, trace::Links::kReplace);
    // What somebody else has put there keeps its name.
    struct stat there{};
    if (!file && number < kMostNames && ::lstat(name.c_str(), &there) == 0 &&
        (!S_ISREG(there.st_mode) || there.st_uid != ::geteuid())) {
      continue;
    }
    if (file && !file->other().empty()) continue;
    names_.insert(name);
    return file;
  }
}

void Recorder::discover() {
  rt::SessionHeader& header = session_.header();
  const std::uint32_t count =
      std::min(header.processes.load(std::memory_order_acquire), rt::kMaxProcesses);
  // In order: who comes first gets the plain name.
  while (seen_ < count && header.slots[seen_].pid.load(std::memory_order_acquire) != 0) {
    const std::uint32_t pid = header.slots[seen_].pid.load(std::memory_order_relaxed);
    if (pid == rt::kNoProcess) {
      ++seen_;
      continue;
    }
    std::string output;
    const Result<Output> file = claim(pid, output);
    auto process = std::make_unique<Process>(session_.folder(), seen_++, header, output);
    ++summary_.processes;
    if (Status opened = file ? process->open(*file, make_taker_) : file.error(); !opened) {
      give_up(output, opened.error());
      continue;
    }
    processes_.push_back(std::move(process));
  }
}

bool Recorder::work(bool all, bool ended) {
  discover();
  bool any = false;
  for (auto& process : processes_) {
    // Asked before: what it writes between this question and its death is found by finish().
    // One that nobody can see is taken to end with the program.
    // How the program itself ended is known when whoever waits for it has told us.
    const bool alive =
        process->is_program() && !ended ? true : process->alive() && !(process->hidden() && ended);
    if (stopped_) {
      if (!alive) process.reset();
      continue;
    }
    if (alive) {
      const Result<bool> drained = process->drain(all, team_);
      if (!drained) {
        give_up(process->output(), drained.error());
      } else {
        any |= *drained;
      }
      continue;
    }
    if (const Status finished = process->finish(team_); !finished) {
      give_up(process->output(), finished.error());
    }
    summary_.threads += process->threads();
    summary_.words += process->words();
    summary_.bytes += process->bytes();
    process.reset();
  }
  std::erase_if(processes_, [](const auto& process) { return process == nullptr; });
  return any;
}

/// Unless somebody has rung since the bell was looked at, which is before anything else is: the
/// program may have ended since then.
void Recorder::sleep(std::uint32_t bell) {
  rt::SessionHeader& header = session_.header();
  header.sleeping.store(1, std::memory_order_seq_cst);
  const timespec pause{0, pause_.count()};
  if (header.doorbell.load(std::memory_order_seq_cst) == bell) {
    ::syscall(SYS_futex, &header.doorbell, FUTEX_WAIT, bell, &pause, nullptr, 0);
  }
  header.sleeping.store(0, std::memory_order_seq_cst);
  pause_ = std::min(pause_ * 2, kLongest);
}

bool Recorder::program_ended() {
  pollfd state{ended_, POLLIN | POLLHUP, 0};
  return ::poll(&state, 1, 0) != 0;
}

void Recorder::tell() {
  told_ = true;
  // Before anyone hears of it, who may want to record into the same file at once.
  if (summary_.processes == 0) {
    file_.remove_unused(output_);
    file_ = Output();
  }
  summary_.running = static_cast<std::uint32_t>(processes_.size());
  [[maybe_unused]] const ssize_t written = ::write(report_, &summary_, sizeof(summary_));
  ::close(report_);
  // What goes on behind the program's end (a daemon) keeps nobody waiting who reads its errors.
  struct stat error{};
  if (::fstat(STDERR_FILENO, &error) == 0 && (S_ISFIFO(error.st_mode) || S_ISSOCK(error.st_mode))) {
    const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) ::dup2(nothing, STDERR_FILENO);
    if (nothing > STDERR_FILENO) ::close(nothing);
  }
}

void Recorder::run() {
  // Every so often also rings that are not worth a visit, however much there is to do: a trace on
  // disk that is never far behind, and can be read up to there when it is cut off.
  constexpr std::chrono::milliseconds kEvery(100);
  auto last = std::chrono::steady_clock::now();
  for (;;) {
    session_.header().beat.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t bell = session_.header().doorbell.load(std::memory_order_seq_cst);
    const bool ended = told_ || program_ended();
    const auto now = std::chrono::steady_clock::now();
    const bool all = ended || now - last >= kEvery;
    if (all) last = now;
    // After the question, so that a process which had ended then is finished now.
    const bool any = work(all, ended);
    if (ended && !told_) tell();
    if (told_ && processes_.empty()) return;
    if (any) {
      pause_ = kShortest;
    } else {
      sleep(bell);
    }
  }
}

}  // namespace

void run_recorder(Session& session, const std::string& output, Output file,
                  const MakeTaker& make_taker, int ended, int report) {
  Recorder(session, output, std::move(file), make_taker, ended, report).run();
}

}  // namespace syndrome::record
