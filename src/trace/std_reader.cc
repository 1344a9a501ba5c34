// Two parsers for one grammar (std_format.h). take_line() is right for every line and makes the
// error messages. The fast path in front of it accepts only lines of up to 64 bytes in the common
// form and leaves everything else alone. Both hand variables to defer(), which looks a few lines
// ahead of the table of variables, because that is the one that misses the cache.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <utility>
#include <vector>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "trace/std_format.h"
#include "trace/text_source.h"

namespace syndrome::trace {
namespace {

// Variables whose slots are being fetched at a time: the first of them has been under way for about
// 30 lines of 20 ns when it is looked up, longer than any miss takes.
constexpr std::size_t kAhead = 32;

constexpr bool may_lack_target(EventKind kind) {
  return target_space(kind) == Space::kLabel || !target_space(kind);
}

struct Operation {
  std::string_view word;
  EventKind kind = EventKind::kRead;
  MemoryOrder order = MemoryOrder::kPlain;
};

/// Every word that there is, those without an order first.
std::span<const Operation> operations() {
  static const std::vector<Operation> kOperations = [] {
    std::vector<Operation> all;
    for (std::size_t order = 0; order < kMemoryOrderCount; ++order) {
      for (std::size_t kind = 0; kind < kEventKindCount; ++kind) {
        Operation one{{}, static_cast<EventKind>(kind), static_cast<MemoryOrder>(order)};
        one.word = word_of(one.kind, one.order);
        if (!one.word.empty()) all.push_back(one);
      }
    }
    return all;
  }();
  return kOperations;
}

const Operation* operation_of(std::string_view word) {
  const std::span<const Operation> all = operations();
  const auto found = std::ranges::find(all, word, &Operation::word);
  return found == all.end() ? nullptr : &*found;
}

/// Words that other tools and people use for ours.
std::string_view synonym(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kSynonyms = {
      {{"read", "r"},
       {"rd", "r"},
       {"write", "w"},
       {"wr", "w"},
       {"acquire", "acq"},
       {"lock", "acq"},
       {"release", "rel"},
       {"unlock", "rel"},
       {"start", "fork"},
       {"spawn", "fork"},
       {"signal", "cond_signal"},
       {"broadcast", "cond_broadcast"},
       {"malloc", "alloc"}}};
  while (word.starts_with(' ')) word.remove_prefix(1);
  while (word.ends_with(' ')) word.remove_suffix(1);
  if (operation_of(word) != nullptr) return word;
  for (const auto& [theirs, ours] : kSynonyms) {
    if (theirs == word) return ours;
  }
  std::vector<std::string_view> words;
  for (const Operation& operation : operations()) words.push_back(operation.word);
  return nearest(word, words);
}

class StdSource : public TextSource {
 public:
  using TextSource::TextSource;

 private:
  struct Deferred {
    Interner::Key key;
    std::size_t event = 0;
    std::uint64_t line = 0;
  };

  const char* parse(const char* p, const char* end) override {
    while (p != end && count_ < kBatchEvents && !failed()) {
      if (const char* after = take_fast(p)) [[likely]] {
        p = after;
        continue;
      }
      if (failed()) break;
      if (*p == '\n') {
        p = skip_blank(p, end);
        continue;
      }
      const auto* newline =
          static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
      ++line_;
      take_line({p, static_cast<std::size_t>(newline - p)});
      p = newline + 1;
    }
    resolve();
    return p;
  }

  // --- every line -------------------------------------------------------------------------------

  /// Blank lines; all but the first as fast as memory is read: there may be a gigabyte of them.
  const char* skip_blank(const char* p, const char* end) {
    if (first_blank_ == 0) first_blank_ = line_ + 1;
    std::uint64_t eight = 0;
    constexpr std::uint64_t kEight = 0x0a0a0a0a0a0a0a0a;
    const char* const begin = p;
    while (end - p >= 8 && std::memcpy(&eight, p, 8) != nullptr && eight == kEight) p += 8;
    while (p != end && *p == '\n') ++p;
    line_ += static_cast<std::uint64_t>(p - begin);
    return p;
  }

  void take_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with('#')) return;
    if (line.empty()) {
      if (first_blank_ == 0) first_blank_ = line_;
      return;
    }
    if (first_blank_ != 0) {
      return fail_after_deferred(first_blank_,
                                 "expected an event or a comment, found a blank line");
    }
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) {
      return reject("expected thread|op(target)|location, found {}", shown(line));
    }
    if (bar == 0) return reject("expected a thread before the first '|', found {}", shown(line));
    take_operation(line.substr(0, bar), line.substr(bar + 1));
  }

  void take_operation(std::string_view thread, std::string_view rest) {
    const std::size_t word_end = rest.find_first_of("(|");
    const std::string_view word = rest.substr(0, word_end);
    const Operation* const found = operation_of(word);
    if (found == nullptr) {
      const std::string_view near = synonym(word);
      if (!near.empty()) {
        return reject("expected an operation, found {}; did you mean '{}'?", shown(word), near);
      }
      return reject(
          "expected an operation such as r, w, acq, rel, fork, join, begin or end, found {}",
          shown(word));
    }
    const std::size_t bar =
        word_end == std::string_view::npos ? word_end : rest.find('|', word_end);
    if (bar == std::string_view::npos) {
      return reject("expected '|' and a location (0 when unknown) after the operation, found {}",
                    shown(rest));
    }
    const std::string_view operation = rest.substr(0, bar);
    std::string_view target;
    if (rest[word_end] == '(') {
      const std::size_t close = operation.rfind(')');
      if (close == std::string_view::npos) {
        return reject("expected ')' before the next '|', found {}", shown(operation));
      }
      if (close + 1 != operation.size()) {
        return reject("expected '|' after ')', found {}", shown(operation.substr(close + 1)));
      }
      target = operation.substr(word_end + 1, close - word_end - 1);
    }
    if (target.empty() && !may_lack_target(found->kind)) {
      return reject("expected {}(target), found {}", word, shown(operation));
    }
    if (!target.empty() && !target_space(found->kind)) {
      return reject("expected {} without a target, found {}", word, shown(operation));
    }
    append(*found, thread, target, rest.substr(bar + 1));
  }

  void append(const Operation& what, std::string_view thread, std::string_view target,
              std::string_view location) {
    Event event;
    event.kind = what.kind;
    event.order = what.order;
    if (!find_or_add(Space::kThread, interner(Space::kThread).key(thread), event.thread.value)) {
      return;
    }
    if (!location.empty() && location != "0" &&
        !find_or_add(Space::kSite, interner(Space::kSite).key(location), event.site.value)) {
      return;
    }
    const std::optional<Space> space = target_space(what.kind);
    if (space == Space::kVariable) {
      if (!defer(interner(Space::kVariable).key(target))) return;
    } else if (space && !target.empty() &&
               !find_or_add(*space, interner(*space).key(target), event.target)) {
      return;
    }
    events_[count_++] = event;
  }

  template <class... Args>
  void reject(fmt::format_string<Args...> format, Args&&... args) {
    fail_after_deferred(line_, fmt::format(format, std::forward<Args>(args)...));
  }

  /// An earlier line may have a fault that shows only when its variable is looked up.
  void fail_after_deferred(std::uint64_t line, const std::string& message) {
    resolve();
    fail_at(line, message);
  }

  // --- names ------------------------------------------------------------------------------------

  [[nodiscard]] bool find_or_add(Space space, const Interner::Key& key, std::uint32_t& id) {
    id = interner(space).find(key);
    if (id != Interner::kAbsent) [[likely]]
      return true;
    resolve();
    return !failed() && add(space, key, line_, id);
  }

  /// Notes the variable of the event that will be the next. False when an earlier one failed.
  [[nodiscard]] bool defer(const Interner::Key& key) {
    if (deferred_count_ == kAhead) resolve();
    interner(Space::kVariable).prefetch(key);
    deferred_[deferred_count_++] = {key, count_, line_};
    return !failed();
  }

  void resolve() {
    const Interner& variables = interner(Space::kVariable);
    if (failed()) deferred_count_ = 0;
    for (std::size_t i = 0; i < deferred_count_; ++i) {
      const Deferred& waiting = deferred_[i];
      std::uint32_t id = variables.find(waiting.key);
      if (id == Interner::kAbsent && !add(Space::kVariable, waiting.key, waiting.line, id)) {
        count_ = waiting.event;
        break;
      }
      events_[waiting.event].target = id;
    }
    deferred_count_ = 0;
  }

#if defined(__SSE2__)
  // --- the common form
  // ----------------------------------------------------------------------------

  /// One bit for each of 16 bytes: '|' or '\n'.
  static std::uint32_t delimiters(const char* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i bars = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('|'));
    const __m128i ends = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_or_si128(bars, ends)));
  }
  static std::uint64_t delimiters32(const char* p) {
    return delimiters(p) | (delimiters(p + 16) << 16);
  }

  static constexpr std::uint64_t word_of(std::string_view text) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << (8 * i);
    }
    return word;
  }
  static bool starts(std::uint64_t word, std::string_view text) {
    const std::uint64_t keep = ~std::uint64_t{0} >> (64 - 8 * text.size());
    return (word & keep) == word_of(text);
  }

  /// Parses the line at p and returns where the next begins; or nothing, and then has done nothing,
  /// or has failed. Takes only names that are known, so it meets no unprintable one and no '\r'.
  [[nodiscard]] const char* take_fast(const char* p) {
    static_assert(Lines::kPadding >= 64);
    std::uint64_t marks = delimiters32(p);
    if (std::popcount(marks) < 3) marks |= delimiters32(p + 32) << 32;
    const int first_bar = std::countr_zero(marks);
    marks &= marks - 1;
    const int second_bar = std::countr_zero(marks);
    marks &= marks - 1;
    if (marks == 0) return nullptr;
    const char* const operation = p + first_bar + 1;
    const char* const operation_end = p + second_bar;
    const char* const location = operation_end + 1;
    const char* const newline = p + std::countr_zero(marks);
    // Three delimiters of one line: the first two are bars, the third is its end.
    if (operation[-1] != '|' || *operation_end != '|' || *newline != '\n' ||
        operation_end[-1] != ')' || *p == '#' || *p == '|' || first_blank_ != 0) {
      return nullptr;
    }
    std::uint64_t word = 0;
    std::memcpy(&word, operation, sizeof word);
    Event event;
    std::size_t target_at = 2;
    // Which of the two it is nobody can predict, so no branch may depend on it.
    static_assert(static_cast<int>(EventKind::kWrite) == static_cast<int>(EventKind::kRead) + 1);
    if (static_cast<int>(starts(word, "r(")) | static_cast<int>(starts(word, "w("))) {
      event.kind = static_cast<EventKind>(starts(word, "w("));
    } else if (starts(word, "acq(")) {
      event.kind = EventKind::kAcquire;
      target_at = 4;
    } else if (starts(word, "rel(")) {
      event.kind = EventKind::kRelease;
      target_at = 4;
    } else if (starts(word, "begin(")) {
      event.kind = EventKind::kBegin;
      target_at = 6;
    } else if (starts(word, "end(")) {
      event.kind = EventKind::kEnd;
      target_at = 4;
    } else {
      return nullptr;
    }
    const char* const target = operation + target_at;
    const bool unlabelled = target == operation_end - 1;
    if (unlabelled && event.kind < EventKind::kBegin) return nullptr;
    const auto view = [](const char* from, const char* to) {
      return std::string_view(from, static_cast<std::size_t>(to - from));
    };
    const Interner& threads = interner(Space::kThread);
    event.thread.value = threads.find(threads.padded_key(view(p, operation - 1)));
    if (event.thread.value == Interner::kAbsent) [[unlikely]]
      return nullptr;
    if (newline != location && !(newline == location + 1 && *location == '0')) {
      const Interner& sites = interner(Space::kSite);
      event.site.value = sites.find(sites.padded_key(view(location, newline)));
      if (event.site.value == Interner::kAbsent) [[unlikely]]
        return nullptr;
    }
    const std::string_view name = view(target, operation_end - 1);
    if (event.kind <= EventKind::kWrite) {
      ++line_;
      if (!defer(interner(Space::kVariable).padded_key(name))) [[unlikely]]
        return nullptr;
    } else if (unlabelled) {
      ++line_;
    } else {
      const Interner& names = interner(*target_space(event.kind));
      event.target = names.find(names.padded_key(name));
      if (event.target == Interner::kAbsent) [[unlikely]]
        return nullptr;
      ++line_;
    }
    events_[count_++] = event;
    return newline + 1;
  }
#else
  static const char* take_fast(const char*) { return nullptr; }
#endif

  std::array<Deferred, kAhead> deferred_;
  std::size_t deferred_count_ = 0;
  std::uint64_t first_blank_ = 0;  // line of the first blank line, 0 while there is none
};

}  // namespace

std::unique_ptr<Source> read_std(std::unique_ptr<ByteSource> bytes) {
  return std::make_unique<StdSource>(std::move(bytes));
}

}  // namespace syndrome::trace
