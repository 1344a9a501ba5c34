#include "engine/clocks.h"

#include <cstring>

namespace syndrome::engine {
namespace {

/// Entries that are asked for at once.
constexpr std::uint32_t kRoom = 1u << 16;

}  // namespace

bool ClockPool::grow(Clock& clock, std::uint32_t size) {
  if (size <= clock.size) return true;
  const unsigned index = class_of(size);
  const std::uint32_t length = 16u << index;
  std::uint32_t* made = nullptr;
  {
    const Locked locked(spin_);
    if (free_[index] != nullptr) {
      made = free_[index];
      std::memcpy(&free_[index], made, sizeof free_[index]);
    } else {
      if (room_left_ < length && left_ >= length) {
        room_left_ = static_cast<std::uint32_t>(left_ < kRoom ? left_ : kRoom);
        room_ = static_cast<std::uint32_t*>(
            host_->map(host_->context, std::size_t{room_left_} * sizeof *room_));
        left_ -= room_left_;
        if (room_ == nullptr) room_left_ = 0;
      }
      if (room_left_ < length) return false;
      made = room_;
      room_ += length;
      room_left_ -= length;
    }
  }
  std::memset(made, 0, length * sizeof *made);
  if (clock.size != 0) std::memcpy(made, clock.entries, clock.size * sizeof *made);
  const Clock old = clock;
  clock.entries = made;
  clock.size = length;
  Clock give_back = old;
  clear(give_back);
  return true;
}

void ClockPool::clear(Clock& clock) {
  if (clock.size != 0) {
    const unsigned index = class_of(clock.size);
    const Locked locked(spin_);
    std::memcpy(clock.entries, &free_[index], sizeof free_[index]);
    free_[index] = clock.entries;
  }
  clock = {};
}

bool Objects::start(const Host& host, const Limits& limits) {
  pool_.start(host, limits);
  most_ = limits.objects;
  chains_ = static_cast<Chain*>(host.map(host.context, sizeof(Chain) * kChains));
  objects_ = static_cast<Object*>(host.map(host.context, sizeof(Object) * (most_ + 1)));
  lines_ = static_cast<std::atomic<std::uint32_t>*>(
      host.map(host.context, sizeof(std::atomic<std::uint32_t>) * kLines));
  return chains_ != nullptr && objects_ != nullptr && lines_ != nullptr;
}

Object* Objects::find(const Chain& chain, Kind kind, std::uint64_t address) {
  for (std::uint32_t at = chain.first; at != 0; at = objects_[at - 1].next) {
    Object& object = objects_[at - 1];
    if (object.address == address && object.kind == kind) return &object;
  }
  return nullptr;
}

Object* Objects::add(Chain& chain, Kind kind, std::uint64_t address) {
  std::uint32_t index = 0;
  {
    const Locked locked(spin_);
    if (free_ != 0) {
      index = free_;
      free_ = objects_[index - 1].next;
    } else if (count_ < most_) {
      index = ++count_;
    } else {
      return nullptr;
    }
  }
  line_of(address).fetch_add(1, std::memory_order_relaxed);
  Object& object = objects_[index - 1];
  object = {};
  object.address = address;
  object.kind = kind;
  object.era = era_.load(std::memory_order_relaxed);
  object.next = chain.first;
  chain.first = index;
  return &object;
}

void Objects::remove(Kind kind, std::uint64_t address) {
  Chain& chain = chains_[chain_of(kind, address)];
  const Locked locked(chain.spin);
  std::uint32_t* link = &chain.first;
  while (*link != 0) {
    const std::uint32_t index = *link;
    Object& object = objects_[index - 1];
    if (object.address == address && object.kind == kind) {
      pool_.clear(object.clock);
      pool_.clear(object.shared);
      *link = object.next;
      line_of(address).fetch_sub(1, std::memory_order_relaxed);
      const Locked all(spin_);
      object.next = free_;
      free_ = index;
      return;
    }
    link = &object.next;
  }
}

void Objects::remove_range(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t end = address + bytes;
  for (std::uint64_t at = address; at < end; at = (at | 63) + 1) {
    if (line_of(at).load(std::memory_order_relaxed) == 0) continue;
    for (std::uint64_t each = at; each < end && each <= (at | 63); ++each) {
      remove(Kind::kAtomic, each);
      if ((each & 3) != 0) continue;
      for (const Kind kind : {Kind::kLock, Kind::kSemaphore, Kind::kBarrier, Kind::kAnnotation}) {
        remove(kind, each);
      }
    }
  }
}

}  // namespace syndrome::engine
