#include "record/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
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
  Recorder(Session& session, std::string output, int ended, int report)
      : session_(session), output_(std::move(output)), ended_(ended), report_(report) {}

  void run();

 private:
  void discover();
  [[nodiscard]] bool work(bool all);
  void give_up(const std::string& file, const Error& error);
  void sleep();
  [[nodiscard]] bool program_ended();
  void tell();

  Session& session_;
  std::string output_;
  int ended_;
  int report_;
  bool told_ = false;
  bool stopped_ = false;
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

void Recorder::discover() {
  rt::SessionHeader& header = session_.header();
  const std::uint32_t count =
      std::min(header.processes.load(std::memory_order_acquire), rt::kMaxProcesses);
  // In order: who comes first gets the plain name.
  while (seen_ < count && header.slots[seen_].pid.load(std::memory_order_acquire) != 0) {
    const std::uint32_t pid = header.slots[seen_].pid.load(std::memory_order_relaxed);
    const std::string output =
        summary_.processes == 0 ? output_ : fmt::format("{}.{}", output_, pid);
    auto process = std::make_unique<Process>(session_.folder(), seen_++, header, output);
    ++summary_.processes;
    if (Status opened = process->open(); !opened) {
      give_up(output, opened.error());
      continue;
    }
    processes_.push_back(std::move(process));
  }
}

bool Recorder::work(bool all) {
  discover();
  bool any = false;
  for (auto& process : processes_) {
    // Asked before: what it writes between this question and its death is found by finish().
    const bool alive = process->alive();
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

void Recorder::sleep() {
  rt::SessionHeader& header = session_.header();
  const std::uint32_t bell = header.doorbell.load(std::memory_order_seq_cst);
  header.sleeping.store(1, std::memory_order_seq_cst);
  // Short enough that a thread which fills its ring at a gigabyte a second rarely has to ring.
  const timespec pause{0, 500'000};
  if (header.doorbell.load(std::memory_order_seq_cst) == bell) {
    ::syscall(SYS_futex, &header.doorbell, FUTEX_WAIT, bell, &pause, nullptr, 0);
  }
  header.sleeping.store(0, std::memory_order_seq_cst);
}

bool Recorder::program_ended() {
  pollfd state{ended_, POLLIN | POLLHUP, 0};
  return ::poll(&state, 1, 0) != 0;
}

void Recorder::tell() {
  told_ = true;
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
  // Every so often also rings that are not worth a visit: a trace on disk that is never far behind.
  constexpr unsigned kEvery = 200;
  for (unsigned idle = 0;;) {
    const bool ended = told_ || program_ended();
    // After the question, so that a process which had ended then is finished now.
    const bool any = work(ended || idle >= kEvery);
    if (idle >= kEvery) idle = 0;
    if (ended && !told_) tell();
    if (told_ && processes_.empty()) return;
    if (any) continue;
    ++idle;
    sleep();
  }
}

}  // namespace

void run_recorder(Session& session, const std::string& output, int ended, int report) {
  Recorder(session, output, ended, report).run();
}

}  // namespace syndrome::record
