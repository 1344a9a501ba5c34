#include "trace/unit_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "event/wire.h"

namespace syndrome::trace {
namespace {

constexpr std::size_t kUnitAlignment = 16;

template <class T>
[[nodiscard]] std::optional<T> entry_at(std::string_view bytes, std::uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// How many bytes the unit that begins here has; 0: there is none.
[[nodiscard]] std::size_t unit_bytes(std::string_view bytes) {
  const auto header = entry_at<unit::Header>(bytes, 0);
  if (!header.has_value() || header->magic != unit::kMagic || header->abi != wire::kAbi) return 0;
  const std::uint64_t tables = sizeof(unit::Header) +
                               std::uint64_t{header->functions} * sizeof(unit::Function) +
                               std::uint64_t{header->sites} * sizeof(unit::Site) +
                               std::uint64_t{header->flows} * sizeof(unit::Flow);
  return header->bytes > bytes.size() || tables > header->bytes ? 0 : header->bytes;
}

template <class T>
std::size_t copy_table(std::string_view bytes, std::size_t at, std::size_t count,
                       std::vector<T>& table) {
  table.resize(count);
  if (count != 0) std::memcpy(table.data(), bytes.data() + at, count * sizeof(T));
  return at + count * sizeof(T);
}

}  // namespace

UnitInFile::UnitInFile(std::string_view bytes) : bytes_(bytes) {
  const unit::Header header = *entry_at<unit::Header>(bytes, 0);
  directory_ = header.directory;
  std::size_t at = copy_table(bytes, sizeof header, header.functions, functions_);
  at = copy_table(bytes, at, header.sites, sites_);
  copy_table(bytes, at, header.flows, flows_);
  std::erase_if(functions_, [this](const unit::Function& function) {
    return function.first > sites_.size() || function.sites > sites_.size() - function.first;
  });
  std::erase_if(flows_, [this](const unit::Flow& flow) {
    return flow.from >= sites_.size() || flow.to >= sites_.size();
  });
}

std::string_view UnitInFile::text(std::uint32_t offset) const {
  if (offset == 0 || offset >= bytes_.size()) return {};
  const std::string_view text = bytes_.substr(offset);
  const std::size_t end = text.find('\0');
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

Result<std::vector<UnitInFile>> find_units(std::string_view elf) {
  const auto header = entry_at<Elf64_Ehdr>(elf, 0);
  if (!header.has_value() || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB) {
    return Error{"expected an object file, program or library of this machine (64-bit ELF)"};
  }
  std::vector<UnitInFile> found;
  std::uint64_t count = header->e_shnum;
  // With many sections their number is in the first one.
  if (count == 0 && header->e_shoff != 0) {
    if (const auto first = entry_at<Elf64_Shdr>(elf, header->e_shoff)) count = first->sh_size;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t offset = i * sizeof(Elf64_Shdr);
    const auto section = offset > elf.size() || header->e_shoff > elf.size()
                             ? std::nullopt
                             : entry_at<Elf64_Shdr>(elf, header->e_shoff + offset);
    if (!section.has_value()) {
      return Error{"the file is cut off: its table of sections lies behind its end"};
    }
    if (section->sh_type != SHT_PROGBITS || (section->sh_flags & SHF_WRITE) == 0) continue;
    if (section->sh_offset > elf.size() || section->sh_size > elf.size() - section->sh_offset) {
      return Error{"the file is cut off: a section lies behind its end"};
    }
    const std::string_view bytes = elf.substr(section->sh_offset, section->sh_size);
    // The address of the section, not its place in the file, is what is aligned.
    std::size_t at = (kUnitAlignment - section->sh_addr % kUnitAlignment) % kUnitAlignment;
    while (at < bytes.size()) {
      const std::size_t length = unit_bytes(bytes.substr(at));
      if (length != 0) found.emplace_back(bytes.substr(at, length));
      const std::size_t step = std::max(length, kUnitAlignment);
      at += (step + kUnitAlignment - 1) / kUnitAlignment * kUnitAlignment;
    }
  }
  if (found.empty()) {
    return Error{
        "there are no probes of this version in it: build it with 'syndrome cc' or 'syndrome c++'"};
  }
  return found;
}

}  // namespace syndrome::trace
