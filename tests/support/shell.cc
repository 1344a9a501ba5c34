#include "support/shell.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace syndrome::test {
namespace {

[[noreturn]] void fail(const std::string& what) {
  std::perror(what.c_str());
  std::abort();
}

}  // namespace

std::filesystem::path source_directory() {
  return SYNDROME_SOURCE_DIR;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Shell::Shell() {
  std::string pattern = std::filesystem::temp_directory_path() / "syndrome-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) fail(pattern);
  directory_ = pattern;
  std::filesystem::copy(source_directory() / "examples", directory_ / "examples",
                        std::filesystem::copy_options::recursive);
  std::filesystem::create_directory(directory_ / "build");
  std::filesystem::create_directory_symlink(SYNDROME_BIN_DIR, directory_ / "build" / "bin");
}

Shell::~Shell() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

Outcome Shell::run(std::string_view script) const {
  // Files rather than pipes: nothing can fill up and wait. Beside the directory, not inside, so
  // that a script sees only its own.
  const std::string out = directory_.string() + ".out";
  const std::string err = directory_.string() + ".err";
  const std::string text = "export PATH='" SYNDROME_BIN_DIR "':\"$PATH\"\n" + std::string(script);

  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, directory_.c_str());

  std::string sh = "sh";
  std::string dash_c = "-c";
  std::string body = text;
  const std::array<char*, 4> arguments = {sh.data(), dash_c.data(), body.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, "/bin/sh", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("posix_spawn /bin/sh");

  int status = 0;
  if (waitpid(child, &status, 0) != child) fail("waitpid");
  Outcome outcome;
  outcome.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.out = read_file(out);
  outcome.err = read_file(err);
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return outcome;
}

void Shell::write(std::string_view name, std::string_view content) const {
  std::ofstream file(directory_ / name, std::ios::binary);
  file << content;
  if (!file.flush()) fail(std::string(name));
}

std::string Shell::read(std::string_view name) const {
  return read_file(directory_ / name);
}

}  // namespace syndrome::test
