// The first look at all words of a recording, in any order: where accesses cut memory, which
// versions there are, when each thread begins.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "event/result.h"
#include "trace/capture_index.h"
#include "trace/capture_memory.h"
#include "trace/capture_meta.h"
#include "trace/capture_shared.h"
#include "trace/capture_versions.h"

namespace syndrome::trace {

struct CaptureSurvey {
  CaptureMemory memory;
  CaptureVersions versions;
  std::unique_ptr<CaptureShared> shared;  // filled in if the caller has made it
  std::vector<std::uint64_t> begins;      // the first time of each thread of the index
  std::vector<std::string> warnings;
};

/// Both parts of the result are sealed. `done` counts bytes of the file.
[[nodiscard]] Status survey(const CaptureIndex& index, const CaptureMeta& meta, WordLoader& loader,
                            CaptureSurvey& survey, std::atomic<std::uint64_t>& done);

/// The same, of one thread's words, which may be some of them. Nothing is sealed.
void survey_words(std::span<const std::uint64_t> words, const CaptureMeta& meta,
                  CaptureSurvey& survey);

void warn_of_missing(std::uint64_t versions, std::vector<std::string>& warnings);

}  // namespace syndrome::trace
