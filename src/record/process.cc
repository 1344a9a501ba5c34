#include "record/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "record/session.h"

namespace syndrome::record {
namespace {

/// A quarter of the default ring: large enough for good chunks, and the thread still has room for
/// three quarters while they are written.
constexpr std::uint64_t kWorthwhile = 16384;
// A taker works as it takes, best while the words are in the cache.
constexpr std::uint64_t kWorthARound = 2048;

void wake(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

int open_pid(std::uint32_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

/// The process that has this pid in that namespace of pids (runtime/session.h), by its number here;
/// 0 when there is none, or we may not see it.
std::uint32_t find_process(std::uint32_t pid, std::uint32_t space) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string folder = entry.path().string();
    struct stat found{};
    if (::stat((folder + "/ns/pid").c_str(), &found) != 0) continue;
    if (static_cast<std::uint32_t>(found.st_ino) != space) continue;
    std::ifstream status(folder + "/status");
    for (std::string line; std::getline(status, line);) {
      // NSpid: its number in each namespace, the innermost last.
      if (!line.starts_with("NSpid:")) continue;
      if (line.substr(line.find_last_of(" \t") + 1) == std::to_string(pid)) {
        return static_cast<std::uint32_t>(std::stoul(entry.path().filename().string()));
      }
    }
  }
  return 0;
}

}  // namespace

Process::Process(std::string folder, std::uint32_t slot, rt::SessionHeader& session,
                 std::string output)
    : folder_(std::move(folder)),
      output_(std::move(output)),
      session_(&session),
      slot_(slot),
      pid_(session.slots[slot].pid.load(std::memory_order_acquire)) {
  const std::uint32_t space = session.slots[slot].space.load(std::memory_order_relaxed);
  if (space == 0 || session.pid_space == 0 || space == session.pid_space) {
    pid_fd_ = open_pid(pid_);
    return;
  }
  const std::uint32_t here = find_process(pid_, space);
  if (here != 0) pid_fd_ = open_pid(here);
  hidden_ = pid_fd_ < 0;
}

Process::~Process() {
  for (const Ring& ring : rings_)
    ::munmap(ring.header, rt::ring_bytes(session_->ring_words, session_->flight != 0));
  for (const int fd : {pid_fd_, rings_fd_, meta_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

Status Process::open(const Output& file, const MakeTaker& make_taker) {
  const std::string base = fmt::format("{}/{}.", folder_, slot_);
  rings_fd_ = ::open((base + "rings").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  meta_fd_ = ::open((base + "meta").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (rings_fd_ < 0 || meta_fd_ < 0) {
    return Error{fmt::format("cannot open {}*: {}", base, system_text(errno))};
  }
  if (make_taker) {
    Result<std::unique_ptr<Taker>> taker = make_taker(output_);
    if (!taker) return taker.error();
    taker_ = std::move(*taker);
    return {};
  }
  const int fd = file.duplicate();
  if (fd < 0) return Error{fmt::format("cannot be written: {}", system_text(errno))};
  Result<trace::CaptureWriter> writer = trace::CaptureWriter::adopt(fd);
  if (!writer) return writer.error();
  writer_.emplace(std::move(*writer));
  return {};
}

bool Process::alive() const {
  // Gone before we could look: its number may be another process's by now.
  if (pid_fd_ < 0) return hidden_;
  pollfd state{pid_fd_, POLLIN, 0};
  return ::poll(&state, 1, 0) == 0;
}

Status Process::map_rings() {
  const std::uint32_t count = slot().rings.load(std::memory_order_acquire);
  const std::size_t bytes = rt::ring_bytes(session_->ring_words, session_->flight != 0);
  while (rings_.size() < count) {
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, rings_fd_,
                                static_cast<off_t>(rings_.size() * bytes));
    if (mapped == MAP_FAILED) {
      return Error{fmt::format("cannot map the buffer of a thread: {}", system_text(errno))};
    }
    auto* const words = reinterpret_cast<wire::Word*>(static_cast<char*>(mapped) + rt::kPage);
    rings_.push_back({static_cast<rt::RingHeader*>(mapped), words, false, 0, std::nullopt});
  }
  return {};
}

Status Process::copy_meta() {
  std::array<std::byte, 65536> buffer;
  for (;;) {
    const ssize_t bytes = ::read(meta_fd_, buffer.data(), buffer.size());
    if (bytes <= 0) return {};
    const auto some = std::span(buffer).first(static_cast<std::size_t>(bytes));
    if (Status written = taker_ != nullptr ? taker_->meta(some) : writer_->meta(some); !written) {
      return written;
    }
  }
}

/// How the program ended, as far as `syndrome record` has seen it. Of several programs that the
/// process has been, one after another (exec), it was the last that ended so.
Status Process::write_end() {
  const std::uint32_t known = session_->status.load(std::memory_order_acquire);
  if (!is_program() || known == 0) return {};
  const std::uint32_t all = std::min(session_->processes.load(), rt::kMaxProcesses);
  for (std::uint32_t later = slot_ + 1; later < all; ++later) {
    if (session_->slots[later].pid.load(std::memory_order_relaxed) == pid_) return {};
  }
  const int status = static_cast<int>(known - 1);
  const bool signal = WIFSIGNALED(status);
  const std::array<std::uint32_t, 6> record = {
      static_cast<std::uint32_t>(wire::Meta::kEnded),
      4 * sizeof(std::uint32_t),
      static_cast<std::uint32_t>(signal ? wire::EndHow::kSignal : wire::EndHow::kExit),
      static_cast<std::uint32_t>(signal ? WTERMSIG(status) : WEXITSTATUS(status)),
      wire::kNoThread,
      static_cast<std::uint32_t>(wire::EndSaidBy::kWaiter)};
  const auto bytes = std::as_bytes(std::span(record));
  return taker_ != nullptr ? taker_->meta(bytes) : writer_->meta(bytes);
}

/// Tells the process, which waits for it, what its functions are to the taker.
Status Process::answer() {
  const std::uint32_t units = slot().units.load(std::memory_order_acquire);
  if (slot().answered.load(std::memory_order_relaxed) == units) return {};
  if (Status copied = copy_meta(); !copied) return copied;
  const std::vector<std::uint64_t> blocks = taker_->new_blocks();
  const std::string path = fmt::format("{}/{}.blocks", folder_, slot_);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  const std::size_t bytes = blocks.size() * sizeof(blocks[0]);
  const bool whole =
      fd >= 0 && (bytes == 0 || ::write(fd, blocks.data(), bytes) == static_cast<ssize_t>(bytes));
  if (fd >= 0) ::close(fd);
  // Without an answer it goes on without a filter.
  if (whole) slot().answered.store(units, std::memory_order_release);
  return {};
}

Status Process::take(Ring& ring, std::uint64_t from, std::uint64_t to, trace::WordPacker& packer) {
  const std::uint64_t size = session_->ring_words;
  while (from < to) {
    const std::uint64_t at = from & (size - 1);
    const std::uint64_t count =
        std::min({to - from, size - at, std::uint64_t{trace::kMaxChunkWords}});
    const std::span<wire::Word> words(ring.words + at, count);
    const trace::Bytes chunk = packer.pack(ring.header->thread, from, words);
    {
      const std::lock_guard lock(writing_);
      if (Status written = writer_->packed(chunk); !written) return written;
    }
    // Before they are given back: a word that is not 0 has been written (runtime/session.h).
    std::memset(words.data(), 0, words.size_bytes());
    ring.taken += count;
    from += count;
  }
  return {};
}

bool Process::worthwhile(const Ring& ring, bool all) const {
  const rt::RingState state = ring.header->state.load(std::memory_order_acquire);
  if (state != rt::RingState::kActive) return state == rt::RingState::kFinished;
  const std::uint64_t filled = ring.header->published.load(std::memory_order_acquire) -
                               ring.header->consumed.load(std::memory_order_relaxed);
  return filled >= (all ? 1 : std::min(kWorthwhile, session_->ring_words / 4));
}

Status Process::drain(Ring& ring, trace::WordPacker& packer) {
  const bool finished =
      ring.header->state.load(std::memory_order_acquire) == rt::RingState::kFinished;
  const std::uint64_t published = ring.header->published.load(std::memory_order_acquire);
  const std::uint64_t consumed = ring.header->consumed.load(std::memory_order_relaxed);
  if (published < consumed || published - consumed > session_->ring_words) {
    return Error{"the buffers of the program are damaged: it has written over them"};
  }
  if (Status taken = take(ring, consumed, published, packer); !taken) return taken;
  if (finished) {
    set_free(ring);
    return {};
  }
  ring.header->consumed.store(published, std::memory_order_seq_cst);
  if (ring.header->waiting.exchange(0, std::memory_order_seq_cst) != 0) wake(ring.header->waiting);
  return {};
}

void Process::set_free(Ring& ring) {
  ring.seen = false;
  ring.header->published.store(0, std::memory_order_relaxed);
  ring.header->consumed.store(0, std::memory_order_relaxed);
  ring.header->state.store(rt::RingState::kFree, std::memory_order_release);
  slot().free.fetch_add(1, std::memory_order_release);
}

std::uint64_t Process::written_to(const Ring& ring, std::uint64_t from) const {
  // At most a line, and the first word of the next one.
  std::uint64_t to = from;
  while (to < from + 2 * wire::kLineWords && ring.words[to & (session_->ring_words - 1)] != 0) ++to;
  return to;
}

/// What each ring has now. Whether that is worth a round.
Result<bool> Process::plan_round(bool all, bool unpublished) {
  bool any = false;
  for (Ring& ring : rings_) {
    const rt::RingState state = ring.header->state.load(std::memory_order_acquire);
    ring.from = ring.to = 0;
    ring.finished = state == rt::RingState::kFinished;
    if (state == rt::RingState::kFree) continue;
    if (!std::exchange(ring.seen, true)) ++threads_;
    ring.from = ring.header->consumed.load(std::memory_order_relaxed);
    // A taker may have had more than was published.
    ring.to = std::max(ring.header->published.load(std::memory_order_acquire), ring.from);
    if (ring.to - ring.from > session_->ring_words) {
      return Error{"the buffers of the program are damaged: it has written over them"};
    }
    // No further than once around: there are the words that were not taken yet.
    if (unpublished && !ring.finished) {
      ring.to = std::min(written_to(ring, ring.to), ring.from + session_->ring_words);
    }
    any |= ring.finished || ring.to - ring.from >= (all || unpublished ? 1 : kWorthARound);
  }
  return any;
}

Status Process::hand_over(Ring& ring) {
  const std::uint64_t size = session_->ring_words;
  while (ring.from < ring.to) {
    const std::uint64_t at = ring.from & (size - 1);
    const std::span<wire::Word> words(ring.words + at, std::min(ring.to - ring.from, size - at));
    if (Status taken = taker_->words(ring.header->thread, words); !taken) return taken;
    std::memset(words.data(), 0, words.size_bytes());
    ring.taken += words.size();
    ring.from += words.size();
  }
  if (ring.finished) return {};
  ring.header->consumed.store(ring.to, std::memory_order_seq_cst);
  if (ring.header->waiting.exchange(0, std::memory_order_seq_cst) != 0) wake(ring.header->waiting);
  return {};
}

/// A round for the taker: all that the threads had written when it began.
Result<bool> Process::hand_over(bool all, bool unpublished) {
  if (Status answered = answer(); !answered) return answered.error();
  Result<bool> worthwhile = plan_round(all, unpublished || taker_waits_);
  // Now and then also without any words: the taker may have something left to do.
  if (!worthwhile || (!*worthwhile && !all)) return worthwhile;
  // After the words have been seen, before they are read: it is there what they speak of.
  if (Status copied = copy_meta(); !copied) return copied.error();
  for (Ring& ring : rings_) {
    if (Status taken = hand_over(ring); !taken) return taken.error();
  }
  Result<bool> waits = taker_->end_of_round();
  if (!waits) return waits;
  taker_waits_ = *waits;
  for (Ring& ring : rings_) {
    if (!ring.finished) continue;
    taker_->ended(ring.header->thread);
    set_free(ring);
  }
  return *worthwhile;
}

Result<bool> Process::drain(bool all, Team& team) {
  if (Status mapped = map_rings(); !mapped) return mapped.error();
  if (in_flight()) return take_asked_windows();
  if (taker_ != nullptr) return hand_over(all, all);
  // First the metadata: a trace that is cut off here can tell what its words mean.
  if (Status copied = copy_meta(); !copied) return copied.error();
  packers_.resize(team.members());
  std::vector<Ring*> wanted;
  for (Ring& ring : rings_) {
    const bool free = ring.header->state.load(std::memory_order_acquire) == rt::RingState::kFree;
    if (!free && !std::exchange(ring.seen, true)) ++threads_;
    if (worthwhile(ring, all)) wanted.push_back(&ring);
  }
  team.run(wanted.size(), [&](std::size_t item, unsigned member) {
    Ring& ring = *wanted[item];
    if (Status drained = drain(ring, packers_[member]); !drained) ring.error = drained.error();
  });
  for (const Ring* ring : wanted) {
    if (ring->error) return *ring->error;
  }
  return !wanted.empty();
}

Status Process::finish(Team& team) {
  if (Result<bool> drained = drain(true, team); !drained) return drained.error();
  if (in_flight()) return write_last_window();
  if (taker_ != nullptr) {
    if (Result<bool> rest = hand_over(true, true); !rest) return rest.error();
    if (Status copied = copy_meta(); !copied) return copied;
    if (Status written = write_end(); !written) return written;
    std::uint64_t left_out = 0;
    for (const Ring& ring : rings_) {
      left_out += ring.header->thrown_blocks.load(std::memory_order_relaxed);
    }
    const Result<std::uint64_t> bytes = taker_->close(left_out);
    if (!bytes) return bytes.error();
    taken_bytes_ = *bytes;
    return {};
  }
  for (Ring& ring : rings_) {
    if (ring.header->state.load(std::memory_order_acquire) != rt::RingState::kActive) continue;
    const std::uint64_t from = ring.header->published.load(std::memory_order_acquire);
    const std::uint64_t to = written_to(ring, from);
    if (Status taken = take(ring, from, to, packers_.front()); !taken) return taken;
  }
  if (Status copied = copy_meta(); !copied) return copied;
  if (Status written = write_end(); !written) return written;
  return writer_->close();
}

Window Process::copy_rings(bool runs) const {
  Window window(session_->ring_words);
  std::vector<const rt::RingHeader*> headers;
  for (const Ring& ring : rings_) headers.push_back(ring.header);
  if (runs) window.end_at(end_of_all(headers));
  for (const Ring& ring : rings_) {
    const auto* const pages =
        reinterpret_cast<const rt::FlightPages*>(ring.words + session_->ring_words);
    window.add(*ring.header, ring.words, *pages);
  }
  window.cut();
  return window;
}

/// Whether there were any.
Result<bool> Process::take_asked_windows() {
  const std::uint32_t asked = slot().windows_asked.load(std::memory_order_seq_cst);
  const std::uint32_t taken = slot().windows_taken.load(std::memory_order_relaxed);
  if (asked == taken) return false;
  // Somebody who asks again and again must not fill the disk.
  constexpr std::uint32_t kMostWindows = 64;
  const Status written = taken < kMostWindows ? write_asked_window(taken + 1) : Status();
  // Those who have asked meanwhile wait for one that has their words for certain.
  slot().windows_taken.store(taken < kMostWindows ? taken + 1 : asked, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &slot().windows_taken, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  if (!written) return written.error();
  return true;
}

Status Process::write_asked_window(std::uint32_t number) {
  const Window window = copy_rings(true);
  Result<trace::CaptureWriter> writer =
      trace::CaptureWriter::create(fmt::format("{}.w{}", output_, number));
  if (!writer) return writer.error();
  // After the words have been copied: it is there what they speak of.
  std::array<std::byte, 65536> buffer;
  for (off_t at = 0;;) {
    const ssize_t bytes = ::pread(meta_fd_, buffer.data(), buffer.size(), at);
    if (bytes <= 0) break;
    at += bytes;
    const auto some = std::span(buffer).first(static_cast<std::size_t>(bytes));
    if (Status written = writer->meta(some); !written) return written;
  }
  if (Status written = window.write(*writer); !written) return written;
  window_words_ += window.words();
  return writer->close();
}

/// All that there was, or the end of it.
Status Process::write_last_window() {
  const Window window = copy_rings(false);
  threads_ += window.threads();
  window_words_ += window.words();
  if (Status copied = copy_meta(); !copied) return copied;
  if (window.is_cut()) {
    std::string text = fmt::format(
        "only the end of the run was checked: the last {} thousand words of its threads; what came "
        "before was not kept",
        (window.words() + 999) / 1000);
    text.resize((text.size() / 8 + 1) * 8);
    const std::array<std::uint32_t, 2> head = {static_cast<std::uint32_t>(wire::Meta::kWarning),
                                               static_cast<std::uint32_t>(text.size())};
    if (Status written = writer_->meta(std::as_bytes(std::span(head))); !written) return written;
    if (Status written = writer_->meta(std::as_bytes(std::span(text))); !written) return written;
  }
  if (Status written = window.write(*writer_); !written) return written;
  if (Status written = write_end(); !written) return written;
  return writer_->close();
}

void Process::wake_all() {
  if (!map_rings()) return;
  for (Ring& ring : rings_) {
    ring.header->waiting.store(0, std::memory_order_seq_cst);
    wake(ring.header->waiting);
  }
}

}  // namespace syndrome::record
