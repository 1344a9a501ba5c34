// Which modules are loaded, and dlopen.
//
// dlopen looks for a name without a slash where its caller's RUNPATH says, and knows its caller by
// the return address. So such a call is passed on by a jump, and the new module is noticed the next
// time that someone asks.
//
// State, and who may touch it:
//   seen_adds, noted     under `spin`

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <unistd.h>

#include "runtime/interpose.h"

namespace syndrome::rt {
namespace {

SYNDROME_REAL(dlopen);
SYNDROME_REAL(readlink);

Spin spin;
unsigned long long seen_adds = 0;

// Bases of the modules that have been recorded. A base is unique while its module is loaded; one
// that does not fit is recorded again, which does no harm.
constexpr std::size_t kMostNoted = 1024;
std::uintptr_t noted[kMostNoted];
std::size_t noted_count = 0;

struct Module {
  std::uintptr_t base = 0;
  std::uintptr_t end = 0;
  bool probes = false;
};

std::size_t length_of(const char* text) {
  const volatile char* at = text;
  while (*at != 0) ++at;
  return static_cast<std::size_t>(at - text);
}

// A module with probes refers to __syndrome_unit, by which its units announce themselves.
bool refers_to_runtime(const dl_phdr_info& info) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    }
  }
  if (dynamic == nullptr) return false;
  const char* strings = nullptr;
  std::size_t bytes = 0;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_STRSZ) bytes = dynamic->d_un.d_val;
  }
  // The loader makes the address absolute; in the kernel's own module (vdso) it stays relative.
  if (strings == nullptr || number_of(strings) < info.dlpi_addr) return false;
  constexpr char kWanted[] = "__syndrome_unit";
  for (std::size_t at = 0; at + sizeof kWanted <= bytes; ++at) {
    std::size_t same = 0;
    while (same < sizeof kWanted && strings[at + same] == kWanted[same]) ++same;
    if (same == sizeof kWanted) return true;
  }
  return false;
}

void note_module(const dl_phdr_info& info, const Module& module) {
  char path[4096];
  const char* const name = info.dlpi_name != nullptr ? info.dlpi_name : "";
  std::size_t length = length_of(name);
  if (length > sizeof path) length = sizeof path;
  for (std::size_t i = 0; i < length; ++i) path[i] = name[i];
  if (length == 0) {  // the program itself
    const ssize_t got = real_readlink("/proc/self/exe", path, sizeof path);
    length = got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  const std::uint64_t head[3] = {module.base, module.end, module.probes ? 1u : 0u};
  const Piece pieces[] = {{head, sizeof head}, {path, length}};
  meta(wire::Meta::kModule, pieces, 2);
}

int look_at(dl_phdr_info* info, std::size_t, void*) {
  Module module{UINTPTR_MAX, 0, false};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t first = info->dlpi_addr + segment.p_vaddr;
    if (first < module.base) module.base = first;
    if (first + segment.p_memsz > module.end) module.end = first + segment.p_memsz;
  }
  if (module.base >= module.end) return 0;
  for (std::size_t i = 0; i < noted_count; ++i) {
    if (noted[i] == module.base) return 0;
  }
  if (noted_count < kMostNoted) noted[noted_count++] = module.base;
  module.probes = refers_to_runtime(*info);
  note_module(*info, module);
  return 0;
}

int count_adds(dl_phdr_info* info, std::size_t, void* adds) {
  *static_cast<unsigned long long*>(adds) = info->dlpi_adds;
  return 1;
}

void look_for_modules() {
  unsigned long long adds = 0;
  dl_iterate_phdr(count_adds, &adds);
  const Inside inside;
  const Hold hold(spin);
  if (adds == seen_adds) return;
  seen_adds = adds;
  dl_iterate_phdr(look_at, nullptr);
}

void* open_and_look(const char* path, int mode) {
  void* const handle = real_dlopen(path, mode);
  if (handle != nullptr) modules_changed();
  return handle;
}

bool has_slash(const char* path) {
  for (; *path != 0; ++path) {
    if (*path == '/') return true;
  }
  return false;
}

}  // namespace

void modules_changed() {
  if (!process_recorded()) return;
  const int kept = errno;
  look_for_modules();
  errno = kept;
}

Spin& modules_spin() {
  return spin;
}

void modules_after_fork() {
  seen_adds = 0;
  noted_count = 0;
  modules_changed();
}

SYNDROME_INTERPOSE void* dlopen(const char* path, int mode) noexcept {
  auto* const next = path != nullptr && has_slash(path) && process_recorded()
                         ? &open_and_look
                         : real_dlopen.pointer();
  return next(path, mode);  // a jump
}

}  // namespace syndrome::rt
