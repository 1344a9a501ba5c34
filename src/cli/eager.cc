#include "cli/eager.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <set>

#include "cli/io.h"
#include "cli/render.h"
#include "record/session.h"

namespace syndrome::cli {
namespace {

// A look begins at the beginning of the trace, so that its answer is that of `check`; between two
// looks there is a pause of four times as long, or the trace has grown by half.
constexpr useconds_t kPause = 200'000;
constexpr double kGrowth = 1.5;
constexpr int kPauses = 4;

using Clock = std::chrono::steady_clock;

[[noreturn]] void look(CheckCall call, const std::string& trace) {
  call.quiet = true;  // of warnings: the trace is not complete yet
  call.options.first = false;
  std::set<std::string> seen;
  off_t last = 0;
  Clock::time_point next;
  for (;; ::usleep(kPause)) {
    struct stat status{};
    if (::stat(trace.c_str(), &status) != 0 || status.st_size == last) continue;
    const Clock::time_point now = Clock::now();
    if (now < next && static_cast<double>(status.st_size) < static_cast<double>(last) * kGrowth) {
      continue;
    }
    last = status.st_size;
    Checker checker(call);
    if (checker.prepare()) ::_exit(0);
    Result<report::Report> report = checker.look_at(trace);
    next = Clock::now() + kPauses * (Clock::now() - now);
    if (!report) continue;
    bool news = false;
    for (report::CheckReport& entry : report->checks) {
      std::erase_if(entry.findings, [&seen](const report::Finding& finding) {
        return !seen.insert(finding.fingerprint).second;
      });
      news |= !entry.findings.empty();
    }
    if (!news) continue;
    std::erase_if(report->checks,
                  [](const report::CheckReport& entry) { return entry.findings.empty(); });
    report->trace.warnings.clear();
    RenderOptions render_options = call.render;
    render_options.output.clear();
    render_options.format = "text";
    (void)write_to(STDERR_FILENO, "syndrome: the program runs, and there is news:\n" +
                                      render({&*report, 1}, false, render_options) + "\n");
  }
}

}  // namespace

Eager::Eager(const CheckCall& call, const std::string& trace) : pid_(::fork()) {
  if (pid_ < 0) {
    complain(
        fmt::format("--eager: {}; findings are printed at the end", record::system_text(errno)));
    return;
  }
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "syndrome-eager");
  for (const int signal : {SIGINT, SIGQUIT, SIGHUP}) ::signal(signal, SIG_IGN);
  look(call, trace);
}

Eager::~Eager() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace syndrome::cli
