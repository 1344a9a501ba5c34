// A small HTTP server for one person on one machine.
//
// It listens on 127.0.0.1 alone. Every address begins with a token that nobody can guess, so that
// other users of the machine and pages of other sites get nothing; a request that names another
// host than ours is refused as well, so that no name of the attacker's can lead here (DNS
// rebinding). It answers GET and nothing else, one request for each connection.
//
// One thread (serve()'s) talks to all clients and waits for none of them: a request is at most
// kMostRequest bytes and must be there within kRequestTime, an answer must be taken within
// kAnswerTime, and of more than kMostClients the one that has kept us waiting longest is dropped.
// Answers are made by other threads. What they share with it, `mutex_` guards: requests_, answers_,
// ended_.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "event/result.h"
#include "trace/bytes_raw.h"

namespace syndrome::explore {

struct Request {
  std::string path;  // behind the token and its slash, without the query
  std::map<std::string, std::string, std::less<>> query;
};

struct Answer {
  int status = 200;
  std::string type = "application/json";
  std::string body;
};

inline constexpr std::size_t kMostRequest = 8192;
inline constexpr std::size_t kMostClients = 64;
inline constexpr std::chrono::seconds kRequestTime{5};
inline constexpr std::chrono::seconds kAnswerTime{30};

/// The request in `head`, which ends with an empty line, or the status that refuses it: 400, 403 or
/// 405.
struct Parsed {
  int status = 200;
  Request request;
};
[[nodiscard]] Parsed parse_request(std::string_view head, std::uint16_t port,
                                   std::string_view token);

class Server {
 public:
  /// `port` 0: one that is free.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(std::uint16_t port);
  ~Server();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] const std::string& token() const { return token_; }
  /// "http://127.0.0.1:8080/0123…/"
  [[nodiscard]] std::string address() const;

  using Handler = std::function<Answer(const Request&)>;
  /// Until `stop` says so, which is asked several times a second. `handler` is called by several
  /// threads, none of which is left when this returns.
  void serve(const Handler& handler, const std::function<bool()>& stop);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { kReading, kThinking, kWriting };
  struct Client {
    std::uint64_t id = 0;
    trace::Fd fd;
    State state = State::kReading;
    std::string in;
    std::string out;
    std::size_t written = 0;
    Clock::time_point deadline;
  };
  struct Job {
    std::uint64_t client = 0;
    Request request;
  };

  Server() = default;
  void work(const Handler& handler);
  void accept_all();
  void take_answers();
  void read_from(Client& client);
  void write_to(Client& client);
  void answer(Client& client, std::string bytes);

  trace::Fd listener_;
  trace::Fd wake_;  // an eventfd: there are answers
  std::uint16_t port_ = 0;
  std::string token_;
  std::uint64_t next_id_ = 1;
  std::vector<std::unique_ptr<Client>> clients_;  // those that are gone have no fd

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::deque<Job> requests_;
  std::vector<std::pair<std::uint64_t, std::string>> answers_;
  bool ended_ = false;
};

}  // namespace syndrome::explore
