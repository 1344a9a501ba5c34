#include "report/symbolizer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

namespace syndrome::report {
namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

/// A file without a name that has `text` in it: input that cannot fill up a pipe.
Descriptor file_with(std::string_view text) {
  std::string path = "/tmp/syndrome-XXXXXX";
  Descriptor file(::mkostemp(path.data(), O_CLOEXEC));
  if (file.number() < 0) return {};
  ::unlink(path.c_str());
  while (!text.empty()) {
    const ssize_t put = ::write(file.number(), text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return {};
    text.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::lseek(file.number(), 0, SEEK_SET) != 0) return {};
  return file;
}

/// Our environment without what would make a symbolizer ask the network.
std::vector<char*> quiet_environment() {
  std::vector<char*> result;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "DEBUGINFOD_URLS=", 16) != 0) result.push_back(*each);
  }
  result.push_back(nullptr);
  return result;
}

/// What the program prints when it reads `input`; nothing when it is not there, fails or takes too
/// long. No shell is involved.
std::optional<std::string> output_of(const std::vector<std::string>& command,
                                     std::string_view input, std::chrono::milliseconds timeout) {
  const Descriptor in = file_with(input);
  std::array<int, 2> ends{};
  if (in.number() < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const Descriptor out(ends[0]);
  Descriptor theirs(ends[1]);

  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment = quiet_environment();
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  posix_spawn_file_actions_adddup2(&actions, in.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, theirs.number(), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return std::nullopt;
  theirs.close();

  std::string text;
  const Clock::time_point end = Clock::now() + timeout;
  bool whole = false;
  while (!whole) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) break;
    pollfd wait{out.number(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(out.number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    whole = got == 0;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (!whole) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // What was printed before it was stopped is as good as the rest.
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

/// Whether the symbolizer can be asked: a regular file whose name is no syntax of its input.
bool askable(const std::string& module) {
  struct stat status{};
  return std::ranges::none_of(
             module, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '"'; }) &&
         module.find('/') != std::string::npos && ::stat(module.c_str(), &status) == 0 &&
         S_ISREG(status.st_mode);
}

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::uint32_t number_in(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<std::uint32_t>() : 0;
}

/// The frames in one line of the symbolizer's answer.
std::vector<Place> frames_in(const nlohmann::json& answer) {
  std::vector<Place> places;
  const auto symbols = answer.find("Symbol");
  if (symbols == answer.end() || !symbols->is_array()) return places;
  for (const nlohmann::json& symbol : *symbols) {
    if (!symbol.is_object()) continue;
    Place place;
    place.file = text_in(symbol, "FileName");
    place.line = number_in(symbol, "Line");
    if (place.file.empty() || place.line == 0) continue;
    place.column = number_in(symbol, "Column");
    place.function = text_in(symbol, "FunctionName");
    place.text = place_text(place.file, place.line, place.column, place.function);
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  const std::size_t plus = text.find("+0x");
  if (plus == std::string_view::npos || plus == 0) return std::nullopt;
  Address address;
  address.module = text.substr(0, plus);
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + plus + 3, end, address.offset, 16);
  if (error != std::errc()) return std::nullopt;
  if (rest != end && *rest != ' ') return std::nullopt;
  if (rest != end) address.function = std::string_view(rest + 1, end);
  return address;
}

void Symbolizer::prepare(const std::vector<Address>& addresses) {
  std::vector<Address> asked;
  std::string input;
  std::map<std::string, bool> modules;
  std::set<Address> unknown(addresses.begin(), addresses.end());
  for (const Address& address : unknown) {
    if (!known_.try_emplace(address).second) continue;
    const auto [module, fresh] = modules.try_emplace(address.module);
    if (fresh) module->second = askable(address.module);
    if (!module->second) continue;
    input += fmt::format("\"{}\" 0x{:x}\n", address.module, address.offset);
    asked.push_back(address);
  }
  if (asked.empty()) return;
  std::optional<std::string> answer;
  for (const std::string& program : options_.programs) {
    answer = output_of({program, "--output-style=JSON", "--inlines", "--demangle"}, input,
                       options_.timeout);
    if (answer) break;
  }
  if (!answer) return;
  ++runs_;
  std::size_t at = 0;
  for (std::size_t start = 0; start < answer->size() && at < asked.size(); ++at) {
    const std::size_t end = std::min(answer->find('\n', start), answer->size());
    const nlohmann::json line = nlohmann::json::parse(
        answer->begin() + static_cast<std::ptrdiff_t>(start),
        answer->begin() + static_cast<std::ptrdiff_t>(end), nullptr, /*allow_exceptions=*/false);
    start = end + 1;
    if (line.is_object()) known_[asked[at]] = frames_in(line);
  }
}

const std::vector<Place>& Symbolizer::places_of(const Address& address) const {
  static const std::vector<Place> kUnknown;
  const auto it = known_.find(address);
  return it == known_.end() ? kUnknown : it->second;
}

}  // namespace syndrome::report
