#include <sys/mman.h>

#include "runtime/holder.h"
#include "runtime/sys.h"

namespace syndrome::rt {

HoldChunk** hold_chunks = nullptr;

namespace {

constexpr std::size_t kChunks = std::size_t{1} << (wire::kAddressBits - kHoldChunkBits);

void* map(std::size_t bytes) {
  return sys::map(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                  0);
}

}  // namespace

bool make_hold_cells() {
  if (hold_chunks == nullptr) {
    hold_chunks = static_cast<HoldChunk**>(map(kChunks * sizeof(HoldChunk*)));
    return hold_chunks != nullptr;
  }
  // In a forked child: nothing of the parent's accesses is of its trace.
  for (std::size_t i = 0; i < kChunks; ++i) {
    if ((i * sizeof(HoldChunk*)) % 4096 == 0) {
      // Most pages of the table were never touched: do not.
      unsigned char there = 0;
      if (sys::call(SYS_mincore, sys::address_of(static_cast<void*>(&hold_chunks[i])), 4096,
                    sys::address_of(&there)) < 0 ||
          (there & 1) == 0) {
        i += 4096 / sizeof(HoldChunk*) - 1;
        continue;
      }
    }
    if (hold_chunks[i] != nullptr) sys::unmap(hold_chunks[i], sizeof(HoldChunk));
    hold_chunks[i] = nullptr;
  }
  return true;
}

HoldChunk* make_hold_chunk(std::size_t index) {
  auto* const made = static_cast<HoldChunk*>(map(sizeof(HoldChunk)));
  if (made == nullptr) return nullptr;
  HoldChunk* there = nullptr;
  if (__atomic_compare_exchange_n(&hold_chunks[index], &there, made, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return made;
  }
  sys::unmap(made, sizeof(HoldChunk));
  return there;
}

}  // namespace syndrome::rt
