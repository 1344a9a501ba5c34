#include "fake_log.h"

#include <atomic>

#include "runtime/log.h"
#include "runtime/noise.h"

namespace syndrome::rt {
namespace {

constexpr std::size_t kMost = 1 << 18;
FakeRecord records[kMost];
std::atomic<std::size_t> used{0};
std::atomic<bool> on{false};
std::atomic<std::uint32_t> numbers{1};
std::atomic<const char*> session{nullptr};
thread_local std::uint32_t own_number = 0;
thread_local bool over = false;

void keep(FakeRecord::Kind kind, std::uintptr_t object, std::uint64_t operand = 0,
          std::uint8_t sync = 0) {
  if (!on.load()) return;
  const std::size_t at = used.fetch_add(1);
  if (at < kMost) records[at] = {kind, sync, own_number, object, operand};
}

}  // namespace

extern "C" {
constinit thread_local ThreadWindow __syndrome_thread{};
}

bool recording() {
  return on.load(std::memory_order_relaxed) && __syndrome_thread.inside == 0 && !over;
}
void sync(wire::Sync kind, std::uintptr_t object) {
  keep(FakeRecord::kSync, object, 0, static_cast<std::uint8_t>(kind));
}
void sync(wire::Sync kind, std::uintptr_t object, wire::Word operand) {
  keep(FakeRecord::kSync, object, operand, static_cast<std::uint8_t>(kind));
}
void read_range(const void* address, std::size_t length) {
  if (length > 0) keep(FakeRecord::kRead, reinterpret_cast<std::uintptr_t>(address), length);
}
void write_range(const void* address, std::size_t length) {
  if (length > 0) keep(FakeRecord::kWrite, reinterpret_cast<std::uintptr_t>(address), length);
}
std::uint32_t new_thread_number() {
  return numbers.fetch_add(1);
}
std::uint32_t thread_number() {
  return own_number;
}
void thread_begin(std::uint32_t number) {
  own_number = number;
  keep(FakeRecord::kBegin, number);
}
void thread_end() {
  keep(FakeRecord::kEnd, own_number);
  over = true;
}
void thread_named(const char* name) {
  keep(FakeRecord::kName, static_cast<unsigned char>(name[0]));
}
void settle_for_all() {}
void note_end(wire::EndHow, int, wire::EndSaidBy) {}
void settle_before_exec() {}
void before_waiting() {}
void before_wait() {}
void go_on_settling() {}
void fork_prepare() {}
void fork_parent() {}
void fork_child() {
  own_number = 0;
  used.store(0);
}
void signal_enter(SignalFrame& frame) {
  frame.window = __syndrome_thread;
  __syndrome_thread.inside = 0;
  keep(FakeRecord::kSignal, 1);
}
void signal_leave(const SignalFrame& frame) {
  keep(FakeRecord::kSignal, 0);
  __syndrome_thread = frame.window;
}
void meta(wire::Meta type, const Piece* pieces, std::size_t) {
  if (type != wire::Meta::kModule) return;
  const auto* const head = static_cast<const std::uint64_t*>(pieces[0].data);
  keep(FakeRecord::kModule, head[0], head[1]);
}
bool noise_on = false;
void make_noise() {
  keep(FakeRecord::kNoise, 0);
}
void make_noise_at_begin() {
  keep(FakeRecord::kNoise, 1);
}
void make_noise_at_fork() {
  keep(FakeRecord::kNoise, 0);
}
std::uint32_t intern(const char*) {
  return 0;
}
void complain(const char*, const char*) {}
bool process_recorded() {
  return on.load(std::memory_order_relaxed);
}
void share_session(std::uint32_t) {}
const char* session_path() {
  return session.load();
}

}  // namespace syndrome::rt

extern "C" {
void fake_start() {
  syndrome::rt::used.store(0);
  syndrome::rt::numbers.store(1);
  syndrome::rt::on.store(true);
}
void fake_stop() {
  syndrome::rt::on.store(false);
}
const FakeRecord* fake_records(std::size_t* count) {
  *count = syndrome::rt::used.load();
  return syndrome::rt::records;
}
void fake_noise(bool on) {
  syndrome::rt::noise_on = on;
}
void fake_session(const char* path) {
  syndrome::rt::session.store(path);
}
}
