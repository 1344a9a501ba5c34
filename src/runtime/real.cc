#include "runtime/real.h"

#include <dlfcn.h>
#include <errno.h>

// Made by the linker: where the section with the slots begins and ends.
extern "C" {
extern char __start_syndrome_real[] __attribute__((visibility("hidden")));
extern char __stop_syndrome_real[] __attribute__((visibility("hidden")));
}

namespace syndrome::rt {
namespace {

thread_local int depth = 0;

// Early, so that no signal handler and no thread of the program is the first to look something up.
__attribute__((constructor(101))) void look_up_all() {
  auto* const first = reinterpret_cast<Slot*>(__start_syndrome_real);
  auto* const last = reinterpret_cast<Slot*>(__stop_syndrome_real);
  for (Slot* slot = first; slot != last; ++slot) slot->look_up();
}

}  // namespace

void* Slot::look_up() {
  const int kept = errno;
  ++depth;
  void* const found = dlsym(RTLD_NEXT, name);
  if (found == nullptr) dlerror();  // the program must not find our error in its place
  --depth;
  errno = kept;
  if (found != nullptr) address.store(found, std::memory_order_relaxed);
  return found;
}

bool looking_up() {
  return depth > 0;
}

}  // namespace syndrome::rt
