#include "report/program_sources.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

#include "event/result.h"
#include "trace/bytes_raw.h"
#include "trace/unit_file.h"

namespace syndrome::report {
namespace {

/// The bytes of a module, while this lives; empty when it does not count.
class Module {
 public:
  explicit Module(const std::string& path) {
    if (!path.starts_with('/')) return;
    const trace::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat state{};
    if (!fd.valid() || ::fstat(fd.get(), &state) != 0 || !S_ISREG(state.st_mode)) return;
    if (state.st_uid != ::geteuid() && state.st_uid != 0) return;
    if ((state.st_mode & S_IWOTH) != 0 || state.st_size <= 0) return;
    const auto bytes = static_cast<std::size_t>(state.st_size);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapped == MAP_FAILED) return;
    bytes_ = {static_cast<const char*>(mapped), bytes};
  }
  ~Module() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace

std::map<std::string, std::string> sources_of(const std::vector<std::string>& modules) {
  std::map<std::string, std::string> sources;
  for (const std::string& path : modules) {
    const Module module(path);
    if (module.bytes().empty()) continue;
    const Result<std::vector<trace::UnitInFile>> units = trace::find_units(module.bytes());
    if (!units) continue;
    for (const trace::UnitInFile& unit : *units) {
      const auto add = [&unit, &sources](std::uint32_t offset) {
        const std::string_view name = unit.text(offset);
        if (name.empty()) return;
        const bool absolute = name.starts_with('/');
        sources.try_emplace(
            std::string(name),
            absolute ? std::string(name) : std::string(unit.directory()) + "/" + std::string(name));
      };
      for (const unit::Function& function : unit.functions()) add(function.file);
      for (const unit::Site& site : unit.sites()) add(site.file);
    }
  }
  return sources;
}

}  // namespace syndrome::report
