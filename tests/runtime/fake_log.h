// A stand-in for the runtime's log: keeps what the interposed functions record, for tests to read.

#pragma once

#include <cstddef>
#include <cstdint>

struct FakeRecord {
  enum Kind : std::uint8_t { kSync, kRead, kWrite, kBegin, kEnd, kName, kSignal, kModule, kNoise };
  Kind kind;
  std::uint8_t sync;  // wire::Sync
  std::uint32_t thread;
  std::uintptr_t object;
  std::uint64_t operand;
};

extern "C" {
/// Forgets everything, and records from here on, or stops recording.
__attribute__((visibility("default"))) void fake_start();
__attribute__((visibility("default"))) void fake_stop();
/// What has been recorded, in order.
__attribute__((visibility("default"))) const FakeRecord* fake_records(std::size_t* count);
/// With noise from here on, or without.
__attribute__((visibility("default"))) void fake_noise(bool on);
/// What session_path() gives; null at first.
__attribute__((visibility("default"))) void fake_session(const char* path);
}
