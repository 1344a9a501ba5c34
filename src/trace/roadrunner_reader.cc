#include "trace/roadrunner_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "trace/text_source.h"

namespace syndrome::trace {
namespace {

enum class Op : std::uint8_t {
  kEnter,
  kExit,
  kStart,
  kJoin,
  kAcquire,
  kRelease,
  kRead,
  kWrite,
  kArrayRead,
  kArrayWrite,
  kVolatileRead,
  kVolatileWrite,
  kWait,
  kNotify,
  // What no check uses.
  kSleep,
  kInterrupt,
  kInterrupted,
  kNewThread,
  kClassInited,
  kClassAccessed,
  kClassAccessedMisspelled,  // as RoadRunner itself writes it
};
constexpr std::array<std::string_view, 21> kOpNames = {
    "Enter",       "Exit",        "Start",     "Join",        "Acquire",
    "Release",     "Rd",          "Wr",        "ARd",         "AWr",
    "VRd",         "VWr",         "Wait",      "Notify",      "Sleep",
    "Interrupt",   "Interrupted", "NewThread", "ClassInited", "ClassAccessed",
    "ClassAccssed"};
static_assert(kOpNames.size() == static_cast<std::size_t>(Op::kClassAccessedMisspelled) + 1);

constexpr bool is_used(Op op) {
  return op < Op::kSleep;
}

/// Notes of the Print tool that are no events.
bool is_note(std::string_view text) {
  return text.starts_with("test acquire ") || text.starts_with("test release ") ||
         text.starts_with("pre  sleep") || text.starts_with("stopped ") ||
         text.find(" started") != std::string_view::npos;
}

std::optional<Op> op_of(std::string_view word) {
  const auto* it = std::find(kOpNames.begin(), kOpNames.end(), word);
  if (it == kOpNames.end()) return std::nullopt;
  return static_cast<Op>(it - kOpNames.begin());
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string_view without_indent(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

/// The index of the ')' that closes the '(' at `open`; else of the last ')'; else npos.
std::size_t closing(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return text.rfind(')');
}

/// The last word of what follows an event, if it is a place: File.java:12 or File.java:12:5.
std::string_view site_in(std::string_view rest) {
  const std::size_t last = rest.find_last_not_of(" \t");
  if (last == std::string_view::npos) return {};
  rest = rest.substr(0, last + 1);
  const std::string_view word = rest.substr(rest.find_last_of(" \t") + 1);
  const std::size_t colon = word.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  return is_number(word.substr(colon + 1)) ? word : std::string_view();
}

class RoadRunnerSource : public LineSource {
 public:
  using LineSource::LineSource;

 private:
  // The last event of a thread, if it is one that may be repeated.
  struct Last {
    std::optional<Op> op;
    std::string target;
  };

  void take(std::string_view line) override {
    if (!line.starts_with('@')) return;
    const std::string_view text = without_indent(line.substr(1));
    const std::size_t open = text.find('(');
    const std::string_view word = text.substr(0, open);
    const std::optional<Op> op = op_of(word);
    if (!op || open == std::string_view::npos) {
      if (is_note(text)) return;
      const std::string_view near = nearest(word, kOpNames);
      return fail(fmt::format(
          "expected an event such as Enter, Exit, Start, Join, Acquire, Release, Rd or Wr with "
          "(thread,target), found {}{}",
          shown(text), near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
    }
    if (!is_used(*op)) {
      ++unused_[static_cast<std::size_t>(*op)];
      return;
    }
    const std::size_t close = closing(text, open);
    if (close == std::string_view::npos || close < open) {
      return fail(fmt::format("expected ')' after the target, found {}", shown(text)));
    }
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const std::size_t comma = inside.find(',');
    const std::string_view thread = inside.substr(0, comma);
    if (!is_number(thread)) {
      return fail(fmt::format("expected the number of a thread, found {}", shown(thread)));
    }
    const std::string_view target =
        comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
    if (target.empty()) {
      return fail(fmt::format("expected {}(thread,target), found {}", word,
                              shown(text.substr(0, close + 1))));
    }
    take_event(*op, thread, target, site_in(text.substr(close + 1)));
  }

  void take_event(Op op, std::string_view thread, std::string_view target, std::string_view site) {
    Acting acting;
    if (!intern(Space::kThread, thread, acting.thread)) return;
    if (!site.empty() && !intern(Space::kSite, site, acting.site)) return;
    if (acting.thread >= last_.size()) last_.resize(acting.thread + 1);
    const bool repeated = last_[acting.thread].op == op && last_[acting.thread].target == target;
    switch (op) {
      case Op::kEnter: one(EventKind::kEnter, acting, target); break;
      case Op::kExit: one(EventKind::kExit, acting, target); break;
      case Op::kAcquire: one(EventKind::kAcquire, acting, target); break;
      case Op::kRelease: one(EventKind::kRelease, acting, target); break;
      case Op::kRead:
      case Op::kArrayRead:
      case Op::kVolatileRead: one(EventKind::kRead, acting, target); break;
      case Op::kWrite:
      case Op::kArrayWrite:
      case Op::kVolatileWrite: one(EventKind::kWrite, acting, target); break;
      default: return take_call(op, repeated, acting, target);
    }
    last_[acting.thread].op.reset();
  }

  struct Acting {
    std::uint32_t thread = 0;
    std::uint32_t site = 0;
  };

  /// The calls that may be in the log twice.
  void take_call(Op op, bool repeated, Acting acting, std::string_view target) {
    if ((op == Op::kStart || op == Op::kJoin) && !is_number(target)) {
      return fail(fmt::format("expected the number of a thread, found {}", shown(target)));
    }
    switch (op) {
      case Op::kStart:
        if (!repeated) one(EventKind::kFork, acting, target);
        doubled_ = doubled_ || repeated;
        break;
      case Op::kJoin:
        if (repeated || !doubled_) one(EventKind::kJoin, acting, target);
        break;
      case Op::kWait:
        if (!repeated) {
          one(EventKind::kRelease, acting, target);
        } else {
          one(EventKind::kCondWait, acting, target);
          one(EventKind::kAcquire, acting, target);
        }
        break;
      case Op::kNotify: {
        // The lock, then whether all are woken.
        const std::size_t comma = target.rfind(',');
        const bool all = comma != std::string_view::npos && target.substr(comma + 1) == "true";
        if (!repeated) {
          one(all ? EventKind::kCondBroadcast : EventKind::kCondSignal, acting,
              target.substr(0, comma));
        }
        break;
      }
      default: break;
    }
    Last& last = last_[acting.thread];
    if (repeated) {
      ++repeated_;
      last.op.reset();
    } else {
      last.op = op;
      last.target = target;
    }
  }

  void one(EventKind kind, Acting acting, std::string_view target) {
    std::uint32_t id = 0;
    if (!failed() && intern(*target_space(kind), target, id)) {
      append(kind, acting.thread, id, acting.site);
    }
  }

  void finish() override {
    std::string unused;
    for (std::size_t i = 0; i < unused_.size(); ++i) {
      if (unused_[i] == 0) continue;
      unused += fmt::format("{}{} {}", unused.empty() ? "" : ", ", unused_[i], kOpNames[i]);
    }
    if (!unused.empty()) {
      warnings_.push_back("passed over events that no check uses: " + unused);
    }
    if (repeated_ > 0) {
      warnings_.push_back(
          fmt::format("{} Start, Join, Wait or Notify lines are in the log twice, before and after "
                      "the call; each pair was read as one call",
                      repeated_));
    }
  }

  std::vector<Last> last_;  // by thread
  bool doubled_ = false;
  std::uint64_t repeated_ = 0;
  std::array<std::uint64_t, kOpNames.size()> unused_{};
};

}  // namespace

std::unique_ptr<Source> read_roadrunner(std::unique_ptr<ByteSource> bytes) {
  return std::make_unique<RoadRunnerSource>(std::move(bytes));
}

bool looks_like_roadrunner(std::string_view head) {
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    const std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
    if (!line.starts_with('@')) continue;
    const std::string_view text = without_indent(line.substr(1));
    const std::size_t open = text.find('(');
    if (open != std::string_view::npos && op_of(text.substr(0, open))) return true;
  }
  return false;
}

}  // namespace syndrome::trace
