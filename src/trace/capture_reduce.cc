#include "trace/capture_reduce.h"

#include <tsl/robin_set.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "event/mix_hash.h"
#include "trace/capture_reducer.h"

namespace syndrome::trace {
namespace {

/// Versions of each shard: how many, and the first and the last.
struct VersionCounts {
  struct Shard {
    std::uint64_t count = 0;
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last = 0;
  };
  std::vector<Shard> shards = std::vector<Shard>(wire::kShards);

  void add(std::size_t shard, std::uint64_t version) {
    Shard& of = shards[shard];
    ++of.count;
    of.first = std::min(of.first, version);
    of.last = std::max(of.last, version);
  }
  void add(const VersionCounts& others) {
    for (std::size_t i = 0; i < shards.size(); ++i) {
      shards[i].count += others.shards[i].count;
      shards[i].first = std::min(shards[i].first, others.shards[i].first);
      shards[i].last = std::max(shards[i].last, others.shards[i].last);
    }
  }
  [[nodiscard]] std::uint64_t missing() const {
    std::uint64_t all = 0;
    for (const Shard& shard : shards) {
      if (shard.count != 0) all += shard.last - shard.first + 1 - shard.count;
    }
    return all;
  }
};

/// What one of our threads finds out.
struct Worker {
  explicit Worker(WordLoader open) : loader(std::move(open)) {}

  WordLoader loader;
  VersionCounts versions;
  tsl::robin_set<std::uint64_t, MixHash> objects;
  std::array<std::uint64_t, 4096> recent{};  // accesses that have told of their object
  std::vector<wire::Word> buffer;

  /// The site tells of an object.
  void know_object(const ScanTables& tables, std::uint32_t site, std::uint64_t address) {
    const std::uint64_t what = address ^ (std::uint64_t{site} << 47);
    std::uint64_t& known = recent[(what ^ (what >> 44)) % recent.size()];
    if (known == what) return;
    known = what;
    objects.insert(tables.object_at(site, address));
  }
};

/// The first loop: what is shared.
class Toucher : public WordScan<Toucher> {
  friend class WordScan<Toucher>;

 public:
  Toucher(const ScanTables& tables, CaptureShared& shared, Worker& worker, std::uint32_t thread,
          Alone* alone)
      : WordScan(tables, thread == 0),
        shared_(&shared),
        worker_(&worker),
        thread_(thread),
        alone_(alone) {}

  std::uint64_t begin = 0;  // the first time, and the last
  std::uint64_t end = 0;

  void finish_alone() {
    if (alone_ != nullptr && alone_->before) end_of_before();
  }

 private:
  void on_object(wire::Word) {}
  void on_access(wire::Word, wire::Word, ScanTables::Site site, std::uint32_t index,
                 std::uint64_t address) {
    if ((site.bits & ScanTables::Site::kTellsObject) != 0) {
      worker_->know_object(tables(), index, address);
    }
    touch(address, site.bytes(), site.writes());
  }
  void on_range(std::span<const wire::Word>, std::uint64_t address, std::uint64_t bytes,
                bool write) {
    touch(address, bytes, write);
  }
  void on_run(std::span<const wire::Word>, std::span<const ScanRun> accesses) {
    for (const ScanRun& access : accesses) {
      access.each([&](std::uint64_t address, std::uint64_t bytes) {
        touch(address, bytes, access.site.writes());
      });
    }
  }
  void on_sync(const ScanSync& sync) {
    see(sync.time());
    if (alone_ != nullptr && alone_->before && sync.kind == wire::Sync::kFork) end_of_before();
    if (sync.version() != 0) {
      worker_->versions.add(wire::shard_of(sync.kind, sync.object()), sync.version());
    }
    if (is_atomic(sync)) shared_->touch_atomic(sync.object(), sync.operand() & 0xff);
  }
  void on_time(wire::Word word) { see(wire::time_of(word)); }
  void on_locals(std::span<const wire::Word>, std::uint64_t, std::uint64_t) {}
  void on_frame(wire::Word) {}
  void on_resume(wire::Word) {}
  void on_push() {}
  void on_pop(wire::Word) {}
  void on_call_begin() {
    if (alone_ != nullptr) alone_->begin_call();
  }
  void on_call_end() {
    if (alone_ == nullptr || !alone_->before) return;
    flush(true);
  }

  void see(std::uint64_t time) {
    if (begin == 0) begin = time;
    end = std::max(end, time);
    if (alone_ == nullptr) return;
    if (alone_->before && time > alone_->others_begin) end_of_before();
    alone_->see(time);
  }
  void end_of_before() {
    flush(false);
    alone_->before = false;
    alone_->first_together = in_call() ? alone_->calls : alone_->calls + 1;
  }
  void flush(bool alone) {
    for (const auto& one : held_) shared_->touch(thread_, one.address, one.bytes, one.write, alone);
    held_.clear();
  }
  void touch(std::uint64_t address, std::uint64_t bytes, bool write) {
    if (bytes == 0) return;
    if (alone_ == nullptr) return shared_->touch(thread_, address, bytes, write);
    if (!alone_->before) {
      return shared_->touch(thread_, address, bytes, write, alone_->is_late(in_call()));
    }
    if (!in_call()) return shared_->touch(thread_, address, bytes, write, true);
    // Whether its call will be over in time is not known yet.
    held_.push_back({address, bytes, write});
    if (held_.size() == kMostHeld) end_of_before();
  }

  struct Held {
    std::uint64_t address;
    std::uint64_t bytes;
    bool write;
  };
  static constexpr std::size_t kMostHeld = std::size_t{1} << 20;

  CaptureShared* shared_;
  Worker* worker_;
  std::uint32_t thread_;
  Alone* alone_;
  std::vector<Held> held_;
};

}  // namespace

/// Both loops, over all threads.
class CaptureReducer {
 public:
  CaptureReducer(const std::string& path, const CaptureIndex& index, const CaptureMeta& meta,
                 const CaptureSelection& selection, unsigned jobs)
      : path_(path),
        index_(&index),
        selection_(&selection),
        tables_(meta, selection.role),
        by_calls_(static_cast<bool>(selection.role)),
        threads_(index.threads.size()),
        begins_(index.threads.size()),
        ends_(index.threads.size()) {
    jobs_ = std::clamp<std::size_t>(jobs, 1, std::max<std::size_t>(1, threads_.size()));
  }

  [[nodiscard]] bool reduce(CaptureReduced& result, const CaptureMeta& meta) {
    if (!index_->complete || index_->threads.empty()) return false;
    for (std::size_t i = 0; i < jobs_; ++i) {
      auto loader = WordLoader::open(path_);
      if (!loader) return false;
      workers_.emplace_back(std::move(*loader));
    }
    by_calls_ &= index_->threads[0].number == 0;
    atomics_ = selection_->atomics || !meta.set_members.empty();
    // The first thread last: whether it was alone, the others say.
    const auto touch = [&](Worker& worker, std::size_t i) {
      Alone* const alone = by_calls_ && i == 0 ? &alone_ : nullptr;
      Toucher toucher(tables_, result.shared_, worker, number_of(i), alone);
      if (!feed(worker, i, toucher)) return false;
      toucher.finish_alone();
      begins_[i] = toucher.begin;
      ends_[i] = toucher.end;
      return true;
    };
    if (!each(1, touch)) return false;
    find_others();
    if (!touch(workers_[0], 0)) return false;
    if (by_calls_ && begins_[0] > alone_.others_begin) return false;

    const auto reduce = [&](Worker& worker, std::size_t i) {
      Alone alone = alone_;
      alone.restart();
      // Mostly it is less, and memory that is not touched costs nothing.
      std::size_t count = 0;
      for (const WordsAt& at : index_->threads[i].chunks) count += at.count;
      threads_[i].words.reserve(std::min(count, kMostReserved));
      if (by_calls_) threads_[i].items.reserve(std::min(count, kMostReserved));
      ThreadReducer reducer(tables_, result.shared_, threads_[i], number_of(i) == 0,
                            {by_calls_, selection_->every_function, atomics_},
                            i == 0 ? &alone : nullptr);
      return feed(worker, i, reducer) && reducer.done();
    };
    if (!each(0, reduce)) return false;
    if (by_calls_ && !sweep(threads_, result.shared_)) return false;
    give(result, meta);
    return true;
  }

 private:
  static constexpr std::size_t kMostReserved = std::size_t{1} << 24;

  [[nodiscard]] std::uint32_t number_of(std::size_t i) const { return index_->threads[i].number; }

  void find_others() {
    alone_.others_begin = std::numeric_limits<std::uint64_t>::max();
    for (std::size_t i = 1; i < threads_.size(); ++i) {
      alone_.others_begin = std::min(alone_.others_begin, begins_[i]);
      alone_.others_end = std::max(alone_.others_end, ends_[i]);
    }
  }

  /// work(worker, thread) for the threads from `first` on, by all workers.
  template <class Work>
  bool each(std::size_t first, const Work& work) {
    std::atomic<std::size_t> next = first;
    std::atomic<bool> good = true;
    const auto go = [&](Worker& worker) {
      for (std::size_t i = next++; i < threads_.size() && good; i = next++) {
        if (!work(worker, i)) good = false;
      }
    };
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < workers_.size(); ++i) {
      try {
        helpers.emplace_back([&go, &worker = workers_[i]] { go(worker); });
      } catch (const std::system_error&) {
        break;  // no more threads can be had: the others do it
      }
    }
    go(workers_[0]);
    helpers.clear();
    return good;
  }

  template <class Scan>
  bool feed(Worker& worker, std::size_t thread, Scan& scan) {
    std::vector<wire::Word>& words = worker.buffer;
    words.clear();
    for (const WordsAt& at : index_->threads[thread].chunks) {
      if (!worker.loader.load(at, words)) return false;
      const auto used = static_cast<std::ptrdiff_t>(scan.scan(words));
      if (scan.failed()) return false;
      words.erase(words.begin(), words.begin() + used);
    }
    if (!words.empty()) return false;
    scan.finish();
    return !scan.failed();
  }

  void give(CaptureReduced& result, const CaptureMeta& meta) {
    VersionCounts versions;
    tsl::robin_set<std::uint64_t, MixHash> objects;
    for (const Worker& worker : workers_) {
      versions.add(worker.versions);
      objects.insert(worker.objects.begin(), worker.objects.end());
    }
    result.missing_ = versions.missing();
    result.objects_.assign(objects.begin(), objects.end());
    for (std::uint32_t i = 0; i < meta.functions.size(); ++i) {
      if (tables_.was_called(i)) result.called_.push_back(i);
    }
    for (SweepThread& thread : threads_) result.words_.push_back(std::move(thread.words));
  }

  std::string path_;
  const CaptureIndex* index_;
  const CaptureSelection* selection_;
  ScanTables tables_;
  bool by_calls_;
  bool atomics_ = true;
  std::size_t jobs_ = 1;
  std::vector<Worker> workers_;
  std::vector<SweepThread> threads_;
  std::vector<std::uint64_t> begins_;
  std::vector<std::uint64_t> ends_;
  Alone alone_;
};

std::shared_ptr<const CaptureReduced> CaptureReduced::make(const std::string& path,
                                                           const CaptureIndex& index,
                                                           const CaptureMeta& meta,
                                                           const CaptureSelection& selection,
                                                           unsigned jobs) {
  auto result = std::make_shared<CaptureReduced>();
  CaptureReducer reducer(path, index, meta, selection, jobs);
  if (!reducer.reduce(*result, meta)) return nullptr;
  return result;
}

}  // namespace syndrome::trace
