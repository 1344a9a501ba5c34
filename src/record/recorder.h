// The process beside the recorded program: empties the rings of every process that the program
// becomes or starts, until all of them are gone.
//
// It is a process of its own, in a session of its own, so that neither a Ctrl-C nor a kill -9 of
// `syndrome record` or of the program costs what was recorded.

#pragma once

#include <cstdint>
#include <string>

#include "record/output.h"
#include "record/session.h"
#include "record/taker.h"

namespace syndrome::record {

/// What the recorder tells when the program has ended, over a pipe.
struct Summary {
  std::uint32_t processes = 0;  // that were recorded
  std::uint32_t running = 0;    // of them, still running: daemons
  std::uint32_t failed = 0;     // 1: recording stopped before its end; a message has been printed
  std::uint64_t threads = 0;
  std::uint64_t words = 0;
  std::uint64_t bytes = 0;  // of all traces
};

/// Runs until every recorded process has ended. The first one's trace is `output`, of which `file`
/// is the claim; the others' are `output`.PID, or `output`.PID.2 and so on where that one is
/// another's: of this recording (numbers of processes come again) or of one beside it. When `ended`
/// (a pipe) is closed at its other end, the program is over: then a Summary is written to `report`.
/// With `make_taker`, words go to takers, and the files are theirs.
void run_recorder(Session& session, const std::string& output, Output file,
                  const MakeTaker& make_taker, int ended, int report);

}  // namespace syndrome::record
