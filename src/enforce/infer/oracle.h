// The rules of Figure 5, run as they stand on the whole of a small trace: each access with its full
// calling context and the acquisitions that it happened under.

#pragma once

#include <span>

#include "enforce/infer/infer.h"
#include "enforce/profile.h"
#include "event/event.h"
#include "event/names.h"

namespace syndrome::enforce {

/// What Inference must say of the same events.
[[nodiscard]] Profile infer_by_definition(std::span<const Event> events, const Names& names,
                                          const InferOptions& options);

/// What Inference::companions() must say.
[[nodiscard]] Companions companions_by_definition(std::span<const Event> events, const Names& names,
                                                  const InferOptions& options);

/// A small random trace with functions, locks and instances of fields.
struct InferSample {
  std::vector<Event> events;
  Names names;
};
[[nodiscard]] InferSample random_infer_sample(std::uint64_t seed);

}  // namespace syndrome::enforce
