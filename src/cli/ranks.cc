#include "cli/ranks.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "cli/cc.h"
#include "cli/command.h"
#include "cli/io.h"

namespace syndrome::cli {
namespace {

/// How long to sleep between looks for a message: MPI itself would spin, on a core that has work.
constexpr std::chrono::microseconds kPause(100);

/// Items from … to, of an answer or a result; none: there is nothing left.
struct Part {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

std::string packed(const Part& part, std::string_view rest = {}) {
  std::string text(sizeof part, '\0');
  std::memcpy(text.data(), &part, sizeof part);
  return text.append(rest);
}

Part part_of(std::string_view text) {
  Part part;
  if (text.size() >= sizeof part) std::memcpy(&part, text.data(), sizeof part);
  return part;
}

}  // namespace

Result<std::unique_ptr<Ranks>> Ranks::join() {
  const char* const size_text = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size_text == nullptr || std::atoi(size_text) < 2) return std::unique_ptr<Ranks>();
  const std::string path = (library_folder() / "libsyndrome_mpi.so").string();
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return Error{fmt::format(
        "mpirun started {} processes, but MPI cannot be used: {}. Build Syndrome with OpenMPI "
        "(libopenmpi-dev) or start it without mpirun",
        size_text, ::dlerror())};
  }
  using Entry = const MpiModule* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, kMpiModuleEntry));
  if (entry == nullptr) return Error{fmt::format("{}: not a module of this version", path)};
  const MpiModule& module = *entry();
  int rank = 0;
  int size = 1;
  if (!module.start(&rank, &size)) return Error{"MPI could not be started"};
  return std::unique_ptr<Ranks>(new Ranks(module, rank, size));
}

/// MPI would spin until rank 0 is done; so the others wait for a last word before they end it.
Ranks::~Ranks() {
  (void)tell({});
  module_.end();
}

void Ranks::give_up(std::string_view why) const {
  complain(fmt::format("rank {}: {}", rank_, why));
  module_.abort(kWrong);
  std::_Exit(kWrong);
}

void Ranks::send(int to, std::string_view text) const {
  if (!module_.send(to, text.data(), text.size())) {
    give_up(fmt::format("cannot send {} bytes to rank {}", text.size(), to));
  }
}

bool Ranks::receive(Message& message) const {
  std::size_t bytes = 0;
  if (!module_.arrived(&message.from, &bytes)) return false;
  message.text.resize(bytes);
  if (!module_.receive(message.from, message.text.data(), bytes)) {
    give_up(fmt::format("cannot receive from rank {}", message.from));
  }
  return true;
}

Ranks::Message Ranks::next() const {
  Message message;
  while (!receive(message)) std::this_thread::sleep_for(kPause);
  return message;
}

void Ranks::run(std::size_t count, std::size_t step, const Work& work, const Take& take) {
  if (rank_ == 0) {
    lead(count, step, work, take);
  } else {
    follow(work);
  }
}

/// Asks for work with what came out of the last part, until there is none.
void Ranks::follow(const Work& work) {
  std::string result = packed({});
  while (true) {
    send(0, result);
    const Part part = part_of(next().text);
    if (part.from == part.to) return;
    result = packed(part, work(part.from, part.to));
  }
}

void Ranks::lead(std::size_t count, std::size_t step, const Work& work, const Take& take) {
  std::mutex mutex;  // guards all of these; `take` is called with it held
  std::size_t given = 0;
  // Large parts first, so that messages are few; small ones at the end, so that all end together.
  const auto next_part = [&]() -> Part {
    constexpr std::size_t kParts = 8;
    const std::size_t left = count - given;
    const std::size_t wanted = std::max(step, left / (kParts * static_cast<std::size_t>(size_)));
    const Part part{given, given + std::min(left, wanted)};
    given = part.to;
    return part;
  };
  std::thread own([&] {
    while (true) {
      std::unique_lock lock(mutex);
      const Part part = next_part();
      if (part.from == part.to) return;
      lock.unlock();
      const std::string result = work(part.from, part.to);
      lock.lock();
      take(part.from, part.to, result);
    }
  });
  // This thread alone speaks with the others.
  std::vector<int> idle;
  while (idle.size() + 1 < static_cast<std::size_t>(size_)) {
    const Message message = next();
    const std::scoped_lock lock(mutex);
    if (const Part done = part_of(message.text); done.from != done.to) {
      take(done.from, done.to, std::string_view(message.text).substr(sizeof done));
    }
    const Part part = next_part();
    if (part.from == part.to) {
      idle.push_back(message.from);
    } else {
      send(message.from, packed(part));
    }
  }
  own.join();
  // Only now: whoever is let go may ask for the work of the next call.
  for (const int other : idle) send(other, packed({}));
}

std::string Ranks::tell(std::string text) {
  if (rank_ != 0) return next().text;
  for (int other = 1; other < size_; ++other) send(other, text);
  return text;
}

std::vector<std::string> Ranks::gather(std::string text) {
  if (rank_ != 0) {
    send(0, text);
    return {};
  }
  std::vector<std::string> all;
  for (int other = 1; other < size_; ++other) all.push_back(next().text);
  return all;
}

}  // namespace syndrome::cli
