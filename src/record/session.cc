#include "record/session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace syndrome::record {
namespace {

/// Rings of a program with some hundred threads at the default size.
constexpr std::uint64_t kRoom = 128u << 20;

bool has_room(const std::string& folder) {
  struct statvfs state{};
  return ::statvfs(folder.c_str(), &state) == 0 &&
         static_cast<std::uint64_t>(state.f_bavail) * state.f_frsize >= kRoom &&
         ::access(folder.c_str(), W_OK | X_OK) == 0;
}

/// All absolute: the program may go to another directory.
std::vector<std::string> places() {
  std::vector<std::string> places;
  if (has_room("/dev/shm")) places.emplace_back("/dev/shm");
  std::error_code ignored;
  const char* const temporary = std::getenv("TMPDIR");
  if (temporary != nullptr && *temporary != 0) {
    places.push_back(std::filesystem::absolute(temporary, ignored).string());
  }
  places.emplace_back("/tmp");
  // In a container, all of these may be read-only or not there at all.
  places.emplace_back("/var/tmp");
  const std::filesystem::path here = std::filesystem::current_path(ignored);
  if (!here.empty()) places.push_back(here.string());
  return places;
}

}  // namespace

std::string system_text(int error) {
  return std::generic_category().message(error);
}

Result<Session> Session::create(std::uint64_t ring_words, rt::Order order, sieve::Checked checked) {
  std::string folder;
  std::string tried;
  int error = 0;
  for (const std::string& place : places()) {
    std::string pattern = place + "/syndrome-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) {
      folder = pattern;
      break;
    }
    error = errno;
    tried += (tried.empty() ? "" : ", ") + place;
  }
  if (folder.empty()) {
    return Error{fmt::format("cannot make a folder for the buffers of the program in {}: {}", tried,
                             system_text(error))};
  }
  const std::string path = folder + "/session";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  void* mapped = MAP_FAILED;
  if (fd >= 0 && ::posix_fallocate(fd, 0, sizeof(rt::SessionHeader)) == 0) {
    mapped = ::mmap(nullptr, sizeof(rt::SessionHeader), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  error = errno;
  if (fd >= 0) ::close(fd);
  if (mapped == MAP_FAILED) {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    return Error{fmt::format("cannot make {}: {}", path, system_text(error))};
  }
  auto* const header = static_cast<rt::SessionHeader*>(mapped);
  header->abi = wire::kAbi;
  header->order = order;
  header->checked = checked;
  header->ring_words = ring_words;
  if (struct stat space{}; ::stat(rt::kPidSpacePath, &space) == 0) {
    header->pid_space = static_cast<std::uint32_t>(space.st_ino);
  }
  header->magic = rt::kSessionMagic;
  return Session(folder, header);
}

Session::Session(Session&& other) noexcept
    : folder_(std::move(other.folder_)), header_(std::exchange(other.header_, nullptr)) {}

Session::~Session() {
  if (header_ != nullptr) ::munmap(header_, sizeof(rt::SessionHeader));
}

void Session::remove() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace syndrome::record
