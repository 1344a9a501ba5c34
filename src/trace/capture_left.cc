#include "trace/capture_left.h"

#include <utility>

namespace syndrome::trace {
namespace {

/// What stays of a thread's words.
class Writer {
 public:
  Writer(const SweepStream& stream, bool any_marked) : stream_(&stream), any_marked_(any_marked) {}

  [[nodiscard]] HugeVector<wire::Word> write() {
    const std::vector<SweepCall>& calls = stream_->thread->calls;
    if (stream_->starts.empty()) return {};
    stamp();
    for (std::size_t call = 0; at_ < words().size();) {
      while (call < calls.size() && calls[call].end <= at_) ++call;
      const bool inside = call < calls.size() && calls[call].begin <= at_;
      if (inside && !calls[call].stays && !stream_->marked_calls[call]) {
        leave_out(calls[call].end);
        continue;
      }
      const std::size_t end = at_ + length();
      pass(inside);
      at_ = static_cast<std::uint32_t>(end);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const HugeVector<wire::Word>& words() const { return stream_->thread->words; }
  [[nodiscard]] std::size_t length() const {
    const wire::Word word = words()[at_];
    if (!wire::is_control(word)) return 1;
    switch (wire::kind_of(word)) {
      case wire::Control::kSync: return 1 + wire::operands_of(word);
      case wire::Control::kRange:
      case wire::Control::kLocals: return 3;
      case wire::Control::kRun: return wire::run_words(wire::top_of(word) & 0xf);
      default: return 1;
    }
  }
  /// Whether one of these, which are in order, is this record.
  [[nodiscard]] static bool next_is(const std::vector<std::uint32_t>& those, std::size_t& next,
                                    std::uint32_t at) {
    while (next < those.size() && those[next] < at) ++next;
    return next < those.size() && those[next] == at;
  }

  /// A record that is not in a call that is left out.
  void pass(bool inside) {
    using wire::Control;
    const wire::Word word = words()[at_];
    const Control kind = wire::kind_of(word);
    if (wire::is_control(word) && kind == Control::kTime) return;
    if (wire::is_control(word) && (kind == Control::kWide || kind == Control::kLeaf)) {
      // Goes with the access behind it, whose record may begin here.
      if (kind == Control::kWide) record_at_ = at_;
      held_.push_back(word);
      return;
    }
    const bool access = !wire::is_control(word) || kind == Control::kRun || kind == Control::kRange;
    if (access) {
      const std::uint32_t at = record_at_ != kNone ? record_at_ : at_;
      record_at_ = kNone;
      if (!inside && !is_wanted(at)) {
        held_.clear();
        return;
      }
    }
    stamp();
    out_.insert(out_.end(), held_.begin(), held_.end());
    held_.clear();
    put();
  }
  [[nodiscard]] bool is_wanted(std::uint32_t at) {
    return next_is(stream_->marked, next_marked_, at) || is_name(at);
  }
  [[nodiscard]] bool is_name(std::uint32_t at) {
    return any_marked_ && next_is(stream_->names, next_name_, at);
  }

  void put() {
    const std::size_t from = out_.size();
    out_.insert(out_.end(), words().begin() + at_,
                words().begin() + at_ + static_cast<std::ptrdiff_t>(length()));
    if (!wire::is_control(out_[from]) || wire::kind_of(out_[from]) != wire::Control::kSync) return;
    out_[from + 2] = wire::operand(0);  // its version …
    out_[from + 3] = wire::operand(stamped_);
  }
  /// The step of the record, if it is another one than that before.
  void stamp() {
    const std::vector<SweepStart>& starts = stream_->starts;
    while (next_start_ < starts.size() && starts[next_start_].at <= at_) {
      step_ = starts[next_start_++].step;
    }
    if (stamped_ == step_) return;
    stamped_ = step_;
    out_.push_back(wire::time(step_));
  }

  /// A call, but for what has to do with memory, and for names.
  void leave_out(std::uint32_t end) {
    const std::vector<std::uint32_t>& renewals = stream_->thread->renewals;
    while (next_renewal_ < renewals.size() && renewals[next_renewal_] < at_) ++next_renewal_;
    const bool any = next_renewal_ < renewals.size() && renewals[next_renewal_] < end;
    bool names = false;
    if (any_marked_) {
      (void)is_name(at_);
      names = next_name_ < stream_->names.size() && stream_->names[next_name_] < end;
    }
    if (any || names) {
      for (; at_ < end; at_ += static_cast<std::uint32_t>(length())) leave_out_record();
      while (!open_.empty()) close();
      held_.clear();
      record_at_ = kNone;
    }
    at_ = end;
  }
  struct Open {
    wire::Word word;
    bool told;
  };
  void leave_out_record() {
    using wire::Control;
    const wire::Word word = words()[at_];
    const Control kind = wire::kind_of(word);
    if (wire::is_control(word)) {
      switch (kind) {
        case Control::kEnter: open_.push_back({word, false}); return;
        case Control::kExit:
          while (!open_.empty()) {
            const bool is_it = wire::payload_of(open_.back().word) == wire::payload_of(word);
            close();
            if (is_it) return;
          }
          return;
        case Control::kLeaf: held_.push_back(word); return;
        case Control::kWide:
          held_.push_back(word);
          record_at_ = at_;
          return;
        case Control::kSync:
        case Control::kLocals:
          if (next_is(stream_->thread->renewals, next_renewal_, at_)) {
            stamp();
            put();
            return;
          }
          break;  // an atomic, maybe
        case Control::kRun:
        case Control::kRange: break;
        default: return;
      }
    }
    const std::uint32_t at = record_at_ != kNone ? record_at_ : at_;
    record_at_ = kNone;
    if (is_name(at)) {
      stamp();
      for (Open& frame : open_) {
        if (!frame.told) out_.push_back(frame.word);
        frame.told = true;
      }
      out_.insert(out_.end(), held_.begin(), held_.end());
      put();
    }
    held_.clear();
  }
  void close() {
    if (open_.back().told) {
      out_.push_back(wire::control(wire::Control::kExit, wire::payload_of(open_.back().word), 0));
    }
    open_.pop_back();
  }

  static constexpr std::uint32_t kNone = UINT32_MAX;
  const SweepStream* stream_;
  bool any_marked_;
  std::uint32_t at_ = 0;
  std::uint32_t record_at_ = kNone;  // of the access that comes next, if it begins before
  std::vector<wire::Word> held_;
  std::vector<Open> open_;
  std::size_t next_start_ = 0;
  std::size_t next_marked_ = 0;
  std::size_t next_name_ = 0;
  std::size_t next_renewal_ = 0;
  std::uint64_t step_ = 0;
  std::uint64_t stamped_ = 0;
  HugeVector<wire::Word> out_;
};

}  // namespace

HugeVector<wire::Word> write_left(const SweepStream& stream, bool any_marked) {
  return Writer(stream, any_marked).write();
}

}  // namespace syndrome::trace
