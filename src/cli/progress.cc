#include "cli/progress.h"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace syndrome::cli {
namespace {

std::string rate_words(double rate) {
  if (rate >= 1e6) return fmt::format("{:.1f} M events/s", rate / 1e6);
  if (rate >= 1e3) return fmt::format("{:.0f} k events/s", rate / 1e3);
  return fmt::format("{:.0f} events/s", rate);
}

std::string time_words(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02} left", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02} left", whole / 60, whole % 60);
}

void put(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

std::size_t terminal_columns() {
  struct winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string progress_line(double seconds, EventNumber events, trace::Progress bytes, unsigned pass,
                          std::size_t columns) {
  const double rate = seconds > 0 ? static_cast<double>(events) / seconds : 0;
  const std::string which = pass > 1 ? fmt::format("pass {}  ", pass) : std::string();
  if (bytes.total == 0) {
    return fmt::format("{}{:.1f} M events  {}", which, static_cast<double>(events) / 1e6,
                       rate_words(rate))
        .substr(0, columns);
  }
  const double done =
      std::clamp(static_cast<double>(bytes.done) / static_cast<double>(bytes.total), 0.0, 1.0);
  const std::string left = done > 0 ? time_words(seconds * (1 - done) / done) : std::string();
  const std::string head = fmt::format("{}{:3.0f}% ", which, done * 100);
  const std::string tail = fmt::format("  {}  {}", rate_words(rate), left);
  constexpr std::size_t kLeastBar = 8;
  constexpr std::size_t kMostBar = 30;
  if (head.size() + tail.size() + kLeastBar > columns) return (head + tail).substr(0, columns);
  const std::size_t room = std::min(kMostBar, columns - head.size() - tail.size());
  const auto full = static_cast<std::size_t>(done * static_cast<double>(room));
  std::string bar;
  for (std::size_t i = 0; i < room; ++i) bar += i < full ? "━" : "─";
  return head + bar + tail;
}

ProgressBar::ProgressBar(bool wanted) : wanted_(wanted && ::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  erase();
}

void ProgressBar::update(EventNumber events, trace::Progress bytes, unsigned pass) {
  constexpr std::chrono::milliseconds kBetween(100);
  constexpr std::chrono::seconds kPatience(1);
  if (!wanted_) return;
  const Clock::time_point now = Clock::now();
  if (pass != pass_) {
    pass_ = pass;
    pass_start_ = last_;
  }
  if (now - last_ < kBetween) return;
  last_ = now;
  if (now - start_ < kPatience) return;
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - pass_start_).count();
  put("\r\x1b[K" + progress_line(seconds, events, bytes, pass, terminal_columns() - 1));
}

void ProgressBar::erase() {
  if (shown_) put("\r\x1b[K");
  shown_ = false;
}

}  // namespace syndrome::cli
