#include "check/units/activations.h"

#include <algorithm>

#include "event/labels.h"
#include "spec/pattern.h"

namespace syndrome::check::units {
namespace {

/// A recursion deeper than this stays at the same context: what is further in is one step.
constexpr std::uint32_t kDeepest = 256;

/// A function of the library that returns when another thread has left its result.
bool is_wait(std::string_view name) {
  return name.starts_with("std::future<") || name.starts_with("std::shared_future<")
             ? name.find("::get(") != std::string_view::npos
             : name.find("__basic_future<") != std::string_view::npos &&
                   name.find("::wait") != std::string_view::npos;
}

}  // namespace

Activations::Activations() : contexts_(1), called_from_(1) {}

const Activations::Thread& Activations::at(ThreadId thread) const {
  return thread.index() < threads_.size() ? threads_[thread.index()] : none_;
}

Activations::Thread& Activations::of(ThreadId thread) {
  if (thread.index() >= threads_.size()) threads_.resize(thread.index() + 1);
  return threads_[thread.index()];
}

std::span<const Activation> Activations::open(ThreadId thread) const {
  const Thread& state = at(thread);
  return std::span(state.open).subspan(state.base);
}

SiteId Activations::step(ThreadId thread, SiteId site) const {
  const SiteId library = at(thread).library_step;
  return library.value != 0 ? library : site;
}

std::span<const ObjectId> Activations::objects(ThreadId thread, std::size_t activation) const {
  const Thread& state = at(thread);
  const std::size_t index = state.base + activation;
  const std::size_t first = state.open[index].first_object;
  const std::size_t end =
      index + 1 < state.open.size() ? state.open[index + 1].first_object : state.objects.size();
  return std::span(state.objects).subspan(first, end - first);
}

std::span<const Hold> Activations::holds(ThreadId thread) const {
  return at(thread).holds;
}

void Activations::take(const Event& event, EventNumber number, const Names& names) {
  if ((event.flags & kDropped) != 0) return;
  const bool nested = (event.flags & kNested) != 0;
  Thread& thread = of(event.thread);
  switch (event.kind) {
    case EventKind::kEnter:
    case EventKind::kBegin: enter(thread, event, number, names); break;
    case EventKind::kExit:
    case EventKind::kEnd: leave(thread); break;
    case EventKind::kObject:
      // A function of the library works on it as a part of its caller.
      if (!thread.frames.empty() && thread.frames.back().kind == Kind::kProgram) {
        thread.objects.push_back(event.object());
      }
      break;
    case EventKind::kAcquire:
    case EventKind::kAcquireShared:
      if (!nested) thread.holds.push_back({event.lock(), number});
      break;
    case EventKind::kRelease:
    case EventKind::kReleaseShared:
      if (!nested) {
        const auto held = std::ranges::find(thread.holds, event.lock(), &Hold::lock);
        if (held != thread.holds.end()) thread.holds.erase(held);
      }
      break;
    case EventKind::kFork:
    case EventKind::kJoin: ++thread.epoch; break;
    case EventKind::kBarrierLeave:
    case EventKind::kWait:
    case EventKind::kCondWait: ++thread.waits; break;
    case EventKind::kThreadStop: {
      const std::uint32_t epoch = thread.epoch + 1;
      thread = {};
      thread.epoch = epoch;
      break;
    }
    default: break;
  }
}

void Activations::enter(Thread& thread, const Event& event, EventNumber number,
                        const Names& names) {
  Kind kind = kind_of(event.label(), names);
  // A block that is its function once more.
  if (event.kind == EventKind::kBegin && !thread.open.empty() &&
      thread.open.back().function == event.label()) {
    kind = Kind::kTransparent;
  }
  thread.frames.push_back({kind, thread.library_step, thread.base});
  switch (kind) {
    case Kind::kTransparent: break;
    case Kind::kCalledBack: thread.base = thread.open.size(); break;
    case Kind::kLibrary:
      if (is_wait(names.label(event.label()))) ++thread.waits;
      if (thread.library_step.value == 0 && thread.open.size() > thread.base) {
        thread.library_step = event.site;
      }
      break;
    case Kind::kProgram: {
      Activation activation;
      activation.begin = number;
      activation.function = event.label();
      activation.call = thread.library_step.value != 0 ? thread.library_step : event.site;
      activation.context = context(thread, activation.call, event.label());
      activation.first_object = static_cast<std::uint32_t>(thread.objects.size());
      thread.open.push_back(activation);
      thread.library_step = {};
      break;
    }
  }
}

void Activations::leave(Thread& thread) {
  if (thread.frames.empty()) return;
  const Frame frame = thread.frames.back();
  thread.frames.pop_back();
  thread.base = frame.outer_base;
  if (frame.kind == Kind::kProgram) {
    thread.objects.resize(thread.open.back().first_object);
    thread.open.pop_back();
  }
  if (frame.kind != Kind::kTransparent) thread.library_step = frame.outer_step;
}

Activations::Kind Activations::kind_of(LabelId label, const Names& names) {
  if (label.index() >= kinds_.size()) kinds_.resize(label.index() + 1);
  std::optional<Kind>& kind = kinds_[label.index()];
  if (!kind) {
    const std::string_view name = names.label(label);
    if (name == kCalledBackLabel) {
      kind = Kind::kCalledBack;
    } else if (is_mark(name) || name.empty()) {
      kind = Kind::kTransparent;
    } else {
      kind = spec::of_library(name) ? Kind::kLibrary : Kind::kProgram;
    }
  }
  return *kind;
}

ContextId Activations::context(const Thread& thread, SiteId call, LabelId function) {
  const ContextId around = thread.open.size() > thread.base ? thread.open.back().context : 0;
  if (contexts_[around].depth >= kDeepest) return around;
  for (const ContextId known : called_from_[around]) {
    if (contexts_[known].call == call && contexts_[known].function == function) return known;
  }
  const auto made = static_cast<ContextId>(contexts_.size());
  contexts_.push_back({around, call, function, contexts_[around].depth + 1});
  called_from_.emplace_back();
  called_from_[around].push_back(made);
  return made;
}

}  // namespace syndrome::check::units
