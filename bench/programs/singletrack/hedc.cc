// Like hedc, which asks archives on the web for astronomical data: four workers run searches, each
// of which asks several archives and puts their answers together. The archives are a thread that
// answers on a loopback port, and takes its time.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <string>

#include "pool.h"

namespace hedc {

constexpr int kArchives = 3;

/// What an archive has for a star, on both sides: the brightness that it has measured.
static int brightness(int archive, int star) {
  return (star * 7919 + archive * 104729) % 1000;
}

class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() { close(number_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  [[nodiscard]] int number() const { return number_; }
  void send_line(const std::string& line) const {
    const std::string text = line + '\n';
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t sent = send(number_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) return;
      at += static_cast<std::size_t>(sent);
    }
  }
  [[nodiscard]] std::string read_line() const {
    std::string line;
    std::array<char, 64> buffer;
    while (line.find('\n') == std::string::npos) {
      const ssize_t got = recv(number_, buffer.data(), buffer.size(), 0);
      if (got <= 0) return line;
      line.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return line;
  }

 private:
  int number_;
};

/// "archive star" -> "brightness"; anything else ends it.
static void serve(const Socket& listener, std::chrono::milliseconds delay) {
  while (true) {
    const Socket client(accept(listener.number(), nullptr, nullptr));
    const std::string line = client.read_line();
    int archive = 0;
    int star = 0;
    if (std::sscanf(line.c_str(), "%d %d", &archive, &star) != 2) return;
    std::this_thread::sleep_for(delay);
    client.send_line(std::to_string(brightness(archive, star)));
  }
}

struct Address {
  sockaddr_in where{};
  explicit Address(std::uint16_t port) {
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    where.sin_port = port;
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&where); }
};

static std::string ask(const Address& archives, const std::string& question) {
  const Socket server(socket(AF_INET, SOCK_STREAM, 0));
  if (connect(server.number(), archives.get(), sizeof archives.where) != 0) return {};
  server.send_line(question);
  return server.read_line();
}

struct Search {
  int star = 0;
  std::array<int, kArchives> found{};
  double mean = 0;
};

SYNDROME_DETERMINISTIC static void run_search(Search& search, const Address& archives) {
  for (int archive = 0; archive < kArchives; ++archive) {
    const std::string answer =
        ask(archives, std::to_string(archive) + ' ' + std::to_string(search.star));
    int& found = search.found[static_cast<std::size_t>(archive)];
    std::from_chars(answer.data(), answer.data() + answer.size(), found);
    search.mean += static_cast<double>(found) / kArchives;
  }
}

static bool run(const Call& call) {
  const Socket listener(socket(AF_INET, SOCK_STREAM, 0));
  Address archives(0);
  socklen_t length = sizeof archives.where;
  if (bind(listener.number(), archives.get(), length) != 0 || listen(listener.number(), 64) != 0 ||
      getsockname(listener.number(), reinterpret_cast<sockaddr*>(&archives.where), &length) != 0) {
    return false;
  }
  std::thread server(serve, std::cref(listener), std::chrono::milliseconds(call.pick(0, 2, 20)));
  std::vector<Search> searches(call.pick<std::size_t>(8, 60, 400));
  {
    Pool pool(4);
    for (std::size_t i = 0; i < searches.size(); ++i) {
      searches[i].star = static_cast<int>(i);
      pool.submit([&search = searches[i], &archives] { run_search(search, archives); });
    }
  }
  ask(archives, "end");
  server.join();
  for (const Search& search : searches) {
    double mean = 0;
    for (int archive = 0; archive < kArchives; ++archive) {
      mean += static_cast<double>(brightness(archive, search.star)) / kArchives;
    }
    if (!near(search.mean, mean, 1e-12)) return false;
  }
  return true;
}

}  // namespace hedc

int main(int argc, char** argv) {
  return run_program(argc, argv, hedc::run);
}
