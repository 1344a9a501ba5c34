// One recorded process: takes words out of its rings and puts them into its trace.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "event/result.h"
#include "record/output.h"
#include "record/taker.h"
#include "record/team.h"
#include "record/window.h"
#include "runtime/session.h"
#include "trace/capture_writer.h"

namespace syndrome::record {

class Process {
 public:
  /// Process number `slot` of the session whose files are in `folder`; its trace goes to the file
  /// that is called `output`. The caller makes sure that the slot has a pid.
  Process(std::string folder, std::uint32_t slot, rt::SessionHeader& session, std::string output);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Begins the trace in `file`, in place of what was there; with `make_taker`, none but its.
  [[nodiscard]] Status open(const Output& file, const MakeTaker& make_taker);

  /// Takes what the threads have published, from rings that are worth a visit (a ring is taken in
  /// large pieces: a chunk of a few words costs as much as one of thousands) or, with `all`, from
  /// every ring. Whether there was anything.
  [[nodiscard]] Result<bool> drain(bool all, Team& team);

  /// The process is dead: takes the rest, also what its threads had written and not yet published,
  /// and ends the trace.
  [[nodiscard]] Status finish(Team& team);

  /// Lets threads that wait for room look again (the recorder has given up).
  void wake_all();

  /// Whether the process still runs. A process that has become another program by exec() counts as
  /// running until that one ends.
  [[nodiscard]] bool alive() const;
  /// The program that was to be run itself, not one of its children.
  [[nodiscard]] bool is_program() const {
    return session_->program.load(std::memory_order_acquire) == pid_ && !hidden_;
  }
  /// In a container, and out of sight: alive() says that it runs, and nobody knows.
  [[nodiscard]] bool hidden() const { return hidden_; }

  [[nodiscard]] std::uint32_t pid() const { return pid_; }
  [[nodiscard]] const std::string& output() const { return output_; }
  [[nodiscard]] std::uint64_t words() const {
    std::uint64_t sum = 0;
    for (const Ring& ring : rings_) sum += ring.taken;
    return sum + window_words_;
  }
  [[nodiscard]] std::uint64_t threads() const { return threads_; }
  [[nodiscard]] std::uint64_t bytes() const { return writer_ ? writer_->bytes() : taken_bytes_; }

 private:
  struct Ring {
    rt::RingHeader* header;
    wire::Word* words;
    bool seen = false;        // its present thread has been counted
    std::uint64_t taken = 0;  // words
    std::optional<Error> error;
    // Of a round for the taker: words to take, and whether its thread has ended.
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    bool finished = false;
  };

  [[nodiscard]] rt::ProcessSlot& slot() { return session_->slots[slot_]; }
  [[nodiscard]] Status map_rings();
  [[nodiscard]] Status answer();
  [[nodiscard]] Status copy_meta();
  [[nodiscard]] Status write_end();
  [[nodiscard]] bool worthwhile(const Ring& ring, bool all) const;
  // These two run in several threads, each with a ring and a packer of its own.
  [[nodiscard]] Status take(Ring& ring, std::uint64_t from, std::uint64_t to,
                            trace::WordPacker& packer);
  [[nodiscard]] Status drain(Ring& ring, trace::WordPacker& packer);
  /// Behind `from`, also what is not published: a word that is not 0 has been written.
  [[nodiscard]] std::uint64_t written_to(const Ring& ring, std::uint64_t from) const;
  void set_free(Ring& ring);

  // In flight (runtime/session.h).
  [[nodiscard]] bool in_flight() { return slot().mode.load() != rt::Mode::kRecord; }
  [[nodiscard]] Result<bool> take_asked_windows();
  [[nodiscard]] Status write_asked_window(std::uint32_t number);
  [[nodiscard]] Status write_last_window();
  [[nodiscard]] Window copy_rings(bool runs) const;

  [[nodiscard]] Result<bool> hand_over(bool all, bool unpublished);
  [[nodiscard]] Result<bool> plan_round(bool all, bool unpublished);
  [[nodiscard]] Status hand_over(Ring& ring);

  std::string folder_;
  std::string output_;
  rt::SessionHeader* session_;
  std::uint32_t slot_;
  std::uint32_t pid_;
  int pid_fd_ = -1;
  int rings_fd_ = -1;
  int meta_fd_ = -1;
  bool hidden_ = false;
  std::vector<Ring> rings_;
  std::vector<trace::WordPacker> packers_;  // one for each member of the team
  std::mutex writing_;                      // guards writer_ while the team works
  std::optional<trace::CaptureWriter> writer_;
  std::unique_ptr<Taker> taker_;  // instead of writer_
  bool taker_waits_ = false;      // for words that may not be published
  std::uint64_t taken_bytes_ = 0;
  std::uint64_t threads_ = 0;
  std::uint64_t window_words_ = 0;
};

}  // namespace syndrome::record
