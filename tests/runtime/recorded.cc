#include "recorded.h"

#include "event/wire.h"
#include "fake_log.h"

namespace syndrome {
namespace {

const char* const kSyncs[] = {
    "start",          "stop",   "fork",  "join", "acquire", "release",   "acquire-shared",
    "release-shared", "arrive", "leave", "post", "wait",    "cond-wait", "cond-signal",
    "cond-broadcast", "alloc",  "free",  "load", "store",   "rmw",       "fence",
    "before",         "after",  "begin", "end",  "destroy", "ordered"};
static_assert(sizeof kSyncs / sizeof kSyncs[0] == wire::kSyncCount);

bool about_threads(wire::Sync kind) {
  return kind == wire::Sync::kFork || kind == wire::Sync::kJoin;
}

}  // namespace

void Recorded::name(const volatile void* object, std::string text) {
  names_.push_back({object, std::move(text)});
}

std::vector<std::string> Recorded::run(const std::function<void()>& body) {
  fake_start();
  body();
  fake_stop();
  std::size_t count = 0;
  const FakeRecord* const records = fake_records(&count);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) {
    const FakeRecord& record = records[i];
    const std::string thread = std::to_string(record.thread) + " ";
    const std::string number = std::to_string(record.object);
    switch (record.kind) {
      case FakeRecord::kBegin:
        if (threads) lines.push_back(thread + "begins");
        continue;
      case FakeRecord::kEnd:
        if (threads) lines.push_back(thread + "ends");
        continue;
      case FakeRecord::kSignal:
        if (signals) lines.push_back(thread + (record.object != 0 ? "enters" : "leaves"));
        continue;
      case FakeRecord::kName:
        lines.push_back(thread + "is called " + static_cast<char>(record.object) + "…");
        continue;
      case FakeRecord::kModule: continue;
      case FakeRecord::kNoise:
        lines.push_back(thread + (record.object != 0 ? "begins with noise" : "noise"));
        continue;
      default: break;
    }
    const auto kind = static_cast<wire::Sync>(record.sync);
    if (record.kind == FakeRecord::kSync && about_threads(kind)) {
      if (threads) lines.push_back(thread + kSyncs[record.sync] + " " + number);
      continue;
    }
    if (record.kind == FakeRecord::kSync && kind == wire::Sync::kAlloc && record.thread == 1 &&
        stack_bytes == 0) {
      stack_low = record.object;
      stack_bytes = record.operand;
    }
    for (const Named& named : names_) {
      if (reinterpret_cast<std::uintptr_t>(named.object) != record.object) continue;
      std::string line = thread;
      line += record.kind == FakeRecord::kRead    ? "read"
              : record.kind == FakeRecord::kWrite ? "write"
                                                  : kSyncs[record.sync];
      line += " " + named.text;
      if (record.operand != 0) line += " " + std::to_string(record.operand);
      lines.push_back(std::move(line));
      break;
    }
  }
  return lines;
}

}  // namespace syndrome
