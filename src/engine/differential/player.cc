#include "engine/differential/player.h"

#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <thread>

#include "event/wire.h"

namespace syndrome::engine {

MadeUpUnit::MadeUpUnit(std::span<const Function> functions, std::vector<unit::Flow> flows) {
  std::ranges::sort(flows, [](const unit::Flow& a, const unit::Flow& b) {
    return a.from != b.from ? a.from < b.from : a.to < b.to;
  });
  unit::Header header;
  header.magic = unit::kMagic;
  header.abi = wire::kAbi;
  header.functions = static_cast<std::uint32_t>(functions.size());
  header.flows = static_cast<std::uint32_t>(flows.size());
  std::vector<unit::Function> made;
  std::vector<unit::Site> sites;
  for (const Function& function : functions) {
    unit::Function each;
    each.first = static_cast<std::uint32_t>(sites.size());
    each.sites = static_cast<std::uint32_t>(function.sites.size());
    made.push_back(each);
    sites.insert(sites.end(), function.sites.begin(), function.sites.end());
  }
  header.sites = static_cast<std::uint32_t>(sites.size());
  const std::size_t bytes = sizeof header + made.size() * sizeof made[0] +
                            sites.size() * sizeof(unit::Site) + flows.size() * sizeof(unit::Flow);
  header.bytes = static_cast<std::uint32_t>(bytes);
  words_.resize(bytes / 8 + 1);
  auto* at = reinterpret_cast<char*>(words_.data());
  const auto put = [&at](const void* data, std::size_t size) {
    if (size != 0) std::memcpy(at, data, size);
    at += size;
  };
  put(&header, sizeof header);
  put(made.data(), made.size() * sizeof made[0]);
  put(sites.data(), sites.size() * sizeof(unit::Site));
  put(flows.data(), flows.size() * sizeof(unit::Flow));
}

const unit::Header* MadeUpUnit::header() const {
  return reinterpret_cast<const unit::Header*>(words_.data());
}

const unit::Function* MadeUpUnit::function(std::size_t index) const {
  return reinterpret_cast<const unit::Function*>(header() + 1) + index;
}

Player::Player(const Limits& limits)
    : engine_(std::make_unique<Engine>()), cells_(std::make_unique<Entry[]>(kBytes / 8 * kLanes)) {
  Host host;
  host.context = this;
  host.map = [](void* self, std::size_t bytes) { return static_cast<Player*>(self)->map(bytes); };
  host.clear_cells = [](void* self) {
    std::fill_n(static_cast<Player*>(self)->cells_.get(), kBytes / 8 * kLanes, Entry{0});
  };
  host.pause = [](void*) { std::this_thread::yield(); };
  host.on_race = [](void* self, Thread&, const Place& earlier, const Place& now) {
    auto& player = *static_cast<Player*>(self);
    const std::lock_guard lock(player.mutex_);
    player.races.push_back({player.event, earlier, now});
  };
  host.on_candidate = [](void* self, Thread&, const Candidate& candidate) {
    auto& player = *static_cast<Player*>(self);
    const std::lock_guard lock(player.mutex_);
    player.candidates.push_back({player.event, candidate});
  };
  const bool started = engine_->start(host, {cells_.get(), kBytes - 1}, limits);
  assert(started);
  (void)started;
}

Player::~Player() {
  for (const Mapped& mapped : mapped_) munmap(mapped.at, mapped.bytes);
}

void* Player::map(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  const std::lock_guard lock(mutex_);
  mapped_.push_back({at, bytes});
  return at;
}

Player::Played& Player::played(ThreadId id) {
  if (id.index() >= threads_.size()) threads_.resize(id.index() + 1);
  Played& played = threads_[id.index()];
  if (played.thread == nullptr) played.thread = static_cast<Thread*>(map(sizeof(Thread)));
  return played;
}

Thread& Player::thread(ThreadId id) {
  Played& its = played(id);
  if (!its.started) {
    its.started = true;
    engine_->start(*its.thread, id.value);
    if (outermost != nullptr) engine_->enter(*its.thread, outermost, 0);
  }
  return *its.thread;
}

void Player::stop(ThreadId id) {
  Played& its = played(id);
  if (its.started && !its.stopped) engine_->stop(*its.thread);
  its.started = its.stopped = true;
}

Order order_of(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::kPlain:
    case MemoryOrder::kRelaxed: return Order::kRelaxed;
    case MemoryOrder::kAcquire: return Order::kAcquire;
    case MemoryOrder::kRelease: return Order::kRelease;
    case MemoryOrder::kAcqRel: return Order::kAcqRel;
    case MemoryOrder::kSeqCst: return Order::kSeqCst;
  }
  return Order::kSeqCst;
}

void Player::synchronize(const Event& what) {
  // Things of different kinds at one address have nothing to do with each other.
  const std::uint64_t object = 0x100000 + std::uint64_t{what.target} * 64;
  Thread& self = thread(what.thread);
  switch (what.kind) {
    case EventKind::kAcquire: engine_->acquire(self, object, false); break;
    case EventKind::kRelease: engine_->release(self, object, false); break;
    case EventKind::kAcquireShared: engine_->acquire(self, object, true); break;
    case EventKind::kReleaseShared: engine_->release(self, object, true); break;
    case EventKind::kFork: engine_->fork(self, what.child().value); break;
    case EventKind::kJoin:
      stop(what.child());
      engine_->join(self, what.child().value);
      break;
    case EventKind::kBarrierArrive: engine_->arrive(self, object); break;
    case EventKind::kBarrierLeave: engine_->leave(self, object); break;
    case EventKind::kPost: engine_->post(self, object); break;
    case EventKind::kWait: engine_->wait(self, object); break;
    case EventKind::kCondWait: engine_->waited(self); break;
    case EventKind::kHappensBefore: engine_->happens_before(self, object); break;
    case EventKind::kHappensAfter: engine_->happens_after(self, object); break;
    case EventKind::kFence: engine_->fence(self, order_of(what.order)); break;
    case EventKind::kAlloc:
    case EventKind::kFree: engine_->reset(self, address_of(what.target), variable_bytes); break;
    case EventKind::kThreadStop: stop(what.thread); break;
    default: break;
  }
}

Counters Player::counters() const {
  Counters all;
  for (const Played& each : threads_) {
    if (each.thread != nullptr) all.add(each.thread->counters);
  }
  return all;
}

}  // namespace syndrome::engine
