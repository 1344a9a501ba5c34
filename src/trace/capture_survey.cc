#include "trace/capture_survey.h"

#include <fmt/format.h>

#include "trace/capture_walk.h"

namespace syndrome::trace {
namespace {

struct Surveyor {
  CaptureSurvey& found;
  std::uint32_t thread = 0;
  std::uint64_t begin = 0;

  void access(const unit::Site& site, std::uint32_t, std::uint64_t address) const {
    if (site.bytes != 0 && site.kind != unit::SiteKind::kCall &&
        site.kind != unit::SiteKind::kObject) {
      found.memory.cut(address, site.bytes);
      const bool reads =
          site.kind == unit::SiteKind::kRead || site.kind == unit::SiteKind::kRangeRead;
      touch(address, site.bytes, !reads);
    }
  }
  void touch(std::uint64_t address, std::uint64_t bytes, bool write) const {
    if (found.shared && bytes != 0) found.shared->touch(thread, address, bytes, write);
  }
  void range(std::uint32_t, bool write, std::uint64_t address, std::uint64_t bytes, bool) const {
    found.memory.cut(address, bytes);
    touch(address, bytes, write);
  }
  void enter(const OpenFrame&) const {}
  void exit(const OpenFrame&) const {}
  [[nodiscard]] bool time(std::uint64_t now) {
    if (begin == 0) begin = now;
    return true;
  }
  [[nodiscard]] bool sync(const SyncRecord& record) {
    if (begin == 0) begin = record.time;
    if (record.version != 0) {
      found.versions.add(wire::shard_of(record.kind, record.object), record.version);
    }
    switch (record.kind) {
      case wire::Sync::kAtomicLoad:
      case wire::Sync::kAtomicStore:
      case wire::Sync::kAtomicRmw:
        if ((record.operand & 0xff) != 0 && record.object <= wire::kAddressMask) {
          found.memory.cut(record.object, record.operand & 0xff);
          if (found.shared) found.shared->touch_atomic(record.object, record.operand & 0xff);
        }
        break;
      case wire::Sync::kAlloc:
      case wire::Sync::kFree:
        if (record.object <= wire::kAddressMask && record.operand <= wire::kAddressMask) {
          found.memory.cut_if_used(record.object, record.operand);
        }
        break;
      default: break;
    }
    return true;
  }
  void locals(std::uint64_t address, std::uint64_t bytes) const {
    found.memory.cut_if_used(address, bytes);
  }
};

}  // namespace

void survey_words(std::span<const std::uint64_t> words, const CaptureMeta& meta,
                  CaptureSurvey& found) {
  ThreadWalk walk(meta);
  Surveyor surveyor{found, 0};
  std::size_t used = 0;
  static_cast<void>(walk.walk(words, used, surveyor));
  found.begins.push_back(surveyor.begin);
}

Status survey(const CaptureIndex& index, const CaptureMeta& meta, WordLoader& loader,
              CaptureSurvey& found, std::atomic<std::uint64_t>& done) {
  std::vector<std::uint64_t> words;
  std::uint64_t odd = 0;
  std::uint32_t number = 0;
  for (const CaptureIndex::Thread& thread : index.threads) {
    ThreadWalk walk(meta);
    Surveyor surveyor{found, number++};
    words.clear();
    for (const WordsAt& at : thread.chunks) {
      if (Status status = loader.load(at, words); !status) return status;
      std::size_t used = 0;
      static_cast<void>(walk.walk(words, used, surveyor));
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(used));
      done += at.stored;
    }
    odd += walk.odd();
    found.begins.push_back(surveyor.begin);
  }
  if (!found.memory.seal()) {
    return Error{fmt::format("the program touched more than {} GiB of memory: record less of it",
                             CaptureMemory::kMaxPages >> 18)};
  }
  found.versions.seal(index.complete);
  if (odd != 0) {
    found.warnings.push_back(fmt::format(
        "{} records speak of functions, sites or calls that the recording does not have (a module "
        "that was unloaded, or an exit without its enter); they were passed over",
        odd));
  }
  warn_of_missing(found.versions.missing(), found.warnings);
  return {};
}

void warn_of_missing(std::uint64_t versions, std::vector<std::string>& warnings) {
  if (versions == 0) return;
  warnings.push_back(
      fmt::format("{} synchronization operations are missing between those that were recorded: "
                  "their threads were killed before they could write them",
                  versions));
}

}  // namespace syndrome::trace
