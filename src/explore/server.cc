#include "explore/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace syndrome::explore {
namespace {

/// Two, so that one long answer does not keep the others waiting.
constexpr unsigned kWorkers = 2;
/// How long poll() may sleep before `stop` is asked again.
constexpr int kNap = 200;

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 431: return "Request Header Fields Too Large";
    default: return "Internal Server Error";
  }
}

std::string as_bytes(const Answer& answer) {
  return fmt::format(
             "HTTP/1.1 {} {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\n"
             "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
             "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
             "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: "
             "same-origin\r\n{}\r\n",
             answer.status, reason(answer.status), answer.type, answer.body.size(),
             answer.status == 405 ? "Allow: GET\r\n" : "") +
         answer.body;
}

Answer refusal(int status) {
  return {status, "text/plain", fmt::format("{} {}\n", status, reason(status))};
}

/// In a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    different |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return different == 0;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return (x | 32) == (y | 32); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
  return -1;
}

/// Without %XX and, in a query, +.
std::optional<std::string> unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      result += ' ';
    } else if (text[i] != '%') {
      result += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      result += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return result;
}

/// Takes what is before `mark` off the front, and the mark; all of it when there is none.
std::string_view take_until(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + mark.size());
  return part;
}

bool parse_query(std::string_view text, Request& request) {
  while (!text.empty()) {
    std::string_view value = take_until(text, "&");
    const std::optional<std::string> name = unescaped(take_until(value, "="));
    std::optional<std::string> unpacked = unescaped(value);
    if (!name || !unpacked) return false;
    request.query[*name] = std::move(*unpacked);
  }
  return true;
}

}  // namespace

Parsed parse_request(std::string_view head, std::uint16_t port, std::string_view token) {
  const auto refuse = [](int status) { return Parsed{status, {}}; };
  std::string_view line = take_until(head, "\r\n");
  const std::string_view method = take_until(line, " ");
  const std::string_view target = take_until(line, " ");
  if (line != "HTTP/1.1" && line != "HTTP/1.0") return refuse(400);
  if (target.empty() || target.front() != '/') return refuse(400);
  unsigned hosts = 0;
  bool ours = false;
  while (!head.empty()) {
    std::string_view field = take_until(head, "\r\n");
    if (field.empty()) break;
    if (field.find(':') == std::string_view::npos) return refuse(400);
    const std::string_view name = take_until(field, ":");
    if (!same_word(name, "host")) continue;
    ++hosts;
    const std::string_view host = trimmed(field);
    ours = host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
  }
  if (hosts != 1 || !ours) return refuse(403);
  std::string_view rest = target.substr(1);
  std::string_view path = take_until(rest, "?");
  const bool slash = path.find('/') != std::string_view::npos;
  if (!same_secret(take_until(path, "/"), token) || !slash) return refuse(403);
  // Only who knows the token learns what else is wrong.
  if (method != "GET") return refuse(405);
  Parsed parsed;
  parsed.request.path = path;
  if (!parse_query(rest, parsed.request)) return refuse(400);
  return parsed;
}

Result<std::unique_ptr<Server>> Server::listen(std::uint16_t port) {
  std::unique_ptr<Server> server(new Server);
  const auto cannot = [port](const char* what) {
    return Error{
        fmt::format("--port {}: cannot {} on 127.0.0.1: {}{}", port, what, std::strerror(errno),
                    errno == EADDRINUSE ? "; give another one, or none for any that is free" : "")};
  };
  std::array<unsigned char, 16> secret{};
  if (::getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
    return Error{fmt::format("cannot make a token: {}", std::strerror(errno))};
  }
  for (const unsigned char byte : secret) server->token_ += fmt::format("{:02x}", byte);
  server->listener_ = trace::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  server->wake_ = trace::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!server->listener_.valid() || !server->wake_.valid()) return cannot("make a socket");
  const int on = 1;
  ::setsockopt(server->listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(server->listener_.get(), any, size) != 0 ||
      ::listen(server->listener_.get(), 64) != 0) {
    return cannot("listen");
  }
  if (::getsockname(server->listener_.get(), any, &size) != 0) return cannot("listen");
  server->port_ = ntohs(address.sin_port);
  return server;
}

Server::~Server() = default;

std::string Server::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", port_, token_);
}

void Server::work(const Handler& handler) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return ended_ || !requests_.empty(); });
    if (ended_) return;
    const Job job = std::move(requests_.front());
    requests_.pop_front();
    lock.unlock();
    std::string bytes = as_bytes(handler(job.request));
    lock.lock();
    answers_.emplace_back(job.client, std::move(bytes));
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
  }
}

void Server::accept_all() {
  for (;;) {
    trace::Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) return;
    if (clients_.size() >= kMostClients) {
      // The slowest one makes room; whose answer is being made does not keep us waiting.
      const auto slowest = std::ranges::min_element(clients_, {}, [](const auto& each) {
        return std::make_pair(each->state == State::kThinking, each->deadline);
      });
      clients_.erase(slowest);
    }
    auto client = std::make_unique<Client>();
    client->id = next_id_++;
    client->fd = std::move(fd);
    client->deadline = Clock::now() + kRequestTime;
    clients_.push_back(std::move(client));
  }
}

void Server::answer(Client& client, std::string bytes) {
  client.state = State::kWriting;
  client.out = std::move(bytes);
  client.deadline = Clock::now() + kAnswerTime;
  write_to(client);
}

void Server::take_answers() {
  std::uint64_t count = 0;
  static_cast<void>(::read(wake_.get(), &count, sizeof count));
  std::vector<std::pair<std::uint64_t, std::string>> ready;
  {
    const std::scoped_lock lock(mutex_);
    ready.swap(answers_);
  }
  for (auto& [id, bytes] : ready) {
    const auto found = std::ranges::find(clients_, id, [](const auto& each) { return each->id; });
    if (found != clients_.end()) answer(**found, std::move(bytes));
  }
}

void Server::read_from(Client& client) {
  std::array<char, 4096> buffer{};
  const ssize_t got = ::read(client.fd.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    client.fd = trace::Fd();
    return;
  }
  client.in.append(buffer.data(), static_cast<std::size_t>(got));
  const std::size_t end = client.in.find("\r\n\r\n");
  if (end == std::string::npos && client.in.size() <= kMostRequest) return;
  if (end == std::string::npos || end + 4 > kMostRequest) {
    answer(client, as_bytes(refusal(431)));
    return;
  }
  Parsed parsed = parse_request(std::string_view(client.in).substr(0, end + 4), port_, token_);
  client.in.clear();
  if (parsed.status != 200) {
    answer(client, as_bytes(refusal(parsed.status)));
    return;
  }
  client.state = State::kThinking;
  const std::scoped_lock lock(mutex_);
  requests_.push_back({client.id, std::move(parsed.request)});
  wanted_.notify_one();
}

void Server::write_to(Client& client) {
  while (client.written < client.out.size()) {
    const ssize_t put = ::send(client.fd.get(), client.out.data() + client.written,
                               client.out.size() - client.written, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put <= 0) break;
    client.written += static_cast<std::size_t>(put);
  }
  // What the client still sends must not make the kernel throw away our answer.
  ::shutdown(client.fd.get(), SHUT_WR);
  std::array<char, 4096> rest{};
  for (unsigned i = 0; i < 16 && ::read(client.fd.get(), rest.data(), rest.size()) > 0; ++i) {
  }
  client.fd = trace::Fd();
}

void Server::serve(const Handler& handler, const std::function<bool()>& stop) {
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < kWorkers; ++i) workers.emplace_back([&] { work(handler); });
  std::vector<pollfd> polled;
  while (!stop()) {
    polled.assign({{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}});
    for (const auto& client : clients_) {
      const bool thinking = client->state == State::kThinking;
      const short events = client->state == State::kWriting ? POLLOUT : POLLIN;
      polled.push_back({thinking ? -1 : client->fd.get(), events, 0});
    }
    if (::poll(polled.data(), polled.size(), kNap) < 0 && errno != EINTR) break;
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i + 2 < polled.size(); ++i) {
      Client& client = *clients_[i];
      if (polled[i + 2].revents != 0) {
        if (client.state == State::kReading) {
          read_from(client);
        } else {
          write_to(client);
        }
      } else if (client.state != State::kThinking && now > client.deadline) {
        if (client.state == State::kReading) {
          answer(client, as_bytes(refusal(408)));
        } else {
          client.fd = trace::Fd();
        }
      }
    }
    if (polled[1].revents != 0) take_answers();
    std::erase_if(clients_, [](const auto& each) { return !each->fd.valid(); });
    if (polled[0].revents != 0) accept_all();
  }
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    requests_.clear();
  }
  wanted_.notify_all();
  for (std::thread& worker : workers) worker.join();
  clients_.clear();
}

}  // namespace syndrome::explore
