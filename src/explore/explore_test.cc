// The index against the definition, on random traces; the index file against damage; the server
// against whatever may come.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "explore/answers.h"
#include "explore/explorer.h"
#include "explore/index_file.h"
#include "explore/oracle.h"
#include "explore/server.h"
#include "report/html.h"
#include "trace/syn_writer.h"

namespace syndrome::explore {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "explore-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

struct Trace {
  std::vector<Event> events;
  Names names;
};

/// Any kinds in any order, with many begins, ends and lock operations; threads come and go.
Trace random_trace(std::uint64_t seed, std::size_t events) {
  std::mt19937_64 random(seed);
  const auto below = [&random](std::uint64_t n) {
    return static_cast<std::uint32_t>(random() % n);
  };
  Trace trace;
  const std::uint32_t threads = 1 + below(6);
  const std::uint32_t targets = 2 + below(5);
  for (std::size_t s = 0; s < kSpaceCount; ++s) {
    StringTable& table = trace.names.table(static_cast<Space>(s));
    while (table.size() < std::max(threads, targets)) {
      table.append(std::string(1, static_cast<char>('a' + s)) + std::to_string(table.size()));
    }
  }
  std::uint32_t shift = 0;
  for (std::size_t i = 0; i < events; ++i) {
    if (below(50) == 0) shift = below(threads);
    Event event;
    event.thread = ThreadId((below(1 + threads / 2) + shift) % threads);
    constexpr EventKind kOften[] = {EventKind::kAcquire, EventKind::kRelease, EventKind::kBegin,
                                    EventKind::kEnd, EventKind::kWrite};
    event.kind = below(3) == 0 ? static_cast<EventKind>(below(kEventKindCount)) : kOften[below(5)];
    if (target_space(event.kind)) event.target = below(targets);
    event.site = SiteId(below(targets));
    trace.events.push_back(event);
  }
  return trace;
}

Explorer explorer_of(const Trace& trace, const std::string& path, const IndexBuilder& fresh,
                     std::uint32_t chunk) {
  auto sink = trace::write_syn(path, {1, chunk});
  EXPECT_TRUE(sink.ok());
  EXPECT_TRUE((*sink)->append(trace.events, trace.names).ok());
  EXPECT_TRUE((*sink)->close().ok());
  IndexBuilder builder = fresh;
  std::vector<Event> copy = trace.events;
  builder.take({copy, 1});
  IndexFile file;
  file.index = builder.finish();
  file.index.threads = trace.names.table(Space::kThread).size();
  auto chunks = find_chunks(path);
  EXPECT_TRUE(chunks.ok());
  file.index.chunks = *chunks;
  // Through its file, so that what is read is what was written.
  Result<IndexFile> again = decode(encode(file));
  EXPECT_TRUE(again.ok());
  EXPECT_EQ(again->index, file.index);
  auto events = EventFile::open(path, again->index.chunks);
  EXPECT_TRUE(events.ok());
  Opened opened;
  opened.index = std::move(again->index);
  opened.events = std::move(*events);
  return Explorer(std::move(opened));
}

void compare(const Trace& trace, Explorer& explorer, std::mt19937_64& random) {
  const Oracle oracle(trace.events);
  std::vector<bool> inside(trace.events.size() + 1);
  for (EventNumber n = 1; n <= trace.events.size(); ++n) inside[n] = oracle.block_of(n) != 0;
  const std::vector<Wait> waits = oracle.waits();
  const std::vector<BlockSpan> blocks = oracle.blocks();
  for (int question = 0; question < 6; ++question) {
    const EventNumber a = 1 + random() % trace.events.size();
    const EventNumber b = 1 + random() % trace.events.size();
    const Range range{std::min(a, b), std::max(a, b) + 1};
    SCOPED_TRACE(testing::Message() << "events " << range.from << " to " << range.to - 1);

    const auto counts = explorer.counts(range);
    ASSERT_TRUE(counts.ok());
    const std::map<std::uint32_t, std::uint64_t> sums(counts->begin(), counts->end());
    EXPECT_EQ(sums, oracle.counts(range, inside, waits));

    const std::uint64_t columns = 1 + random() % 40;
    const auto view = explorer.view(range, columns, ThreadId(1U), 3);
    ASSERT_TRUE(view.ok());
    ASSERT_LE(view->first, range.from);
    ASSERT_GE(view->first + view->width * view->events.size(), range.to);
    for (std::size_t i = 0; i < view->events.size(); ++i) {
      const EventNumber first = view->first + i * view->width;
      const auto facts = oracle.counts(
          {first, std::min<EventNumber>(first + view->width, trace.events.size() + 1)}, inside,
          waits);
      std::uint64_t total = 0;
      std::uint64_t waited = 0;
      std::map<std::uint32_t, std::array<std::uint64_t, 4>> lanes;
      for (const auto& [key, count] : facts) {
        auto& lane = lanes[thread_of(key).value];
        const std::uint32_t fact = fact_of(key);
        if (fact < kEventKindCount) lane[0] += count, total += count;
        if (fact == static_cast<std::uint32_t>(EventKind::kWrite) ||
            fact == static_cast<std::uint32_t>(EventKind::kRmw)) {
          lane[1] += count;
        }
        if (fact == kInside) lane[2] += count;
        if (fact == kWaited) lane[3] += count, waited += count;
      }
      EXPECT_EQ(view->events[i], total);
      EXPECT_EQ(view->waited[i], waited);
      for (const Lane& lane : view->lanes) {
        const std::array<std::uint64_t, 4> found = {lane.events[i], lane.writes[i], lane.inside[i],
                                                    lane.waited[i]};
        EXPECT_EQ(found, lanes[lane.thread.value])
            << "thread " << lane.thread.value << " column " << i;
      }
    }

    const auto spans = explorer.spans(range);
    ASSERT_TRUE(spans.ok());
    std::set<std::pair<EventNumber, EventNumber>> found;
    for (const BlockSpan& block : spans->blocks) {
      const auto known = std::ranges::find(blocks, block.begin, &BlockSpan::begin);
      ASSERT_NE(known, blocks.end()) << block.begin;
      EXPECT_EQ(block.label, known->label);
      EXPECT_EQ(block.thread, known->thread);
      // An end that is far behind the range need not be known.
      if (block.end != 0) {
        EXPECT_EQ(block.end, known->end);
      } else if (known->end != 0) {
        EXPECT_GE(known->end, range.to);
      }
      found.insert({block.begin, 0});
    }
    for (const BlockSpan& block : blocks) {
      const bool overlaps = block.begin < range.to && (block.end == 0 || block.end >= range.from);
      EXPECT_EQ(found.contains({block.begin, 0}), overlaps) << "block " << block.begin;
    }
    std::vector<Wait> expected;
    std::ranges::copy_if(waits, std::back_inserter(expected), [&range](const Wait& wait) {
      return std::max(wait.after + 1, range.from) < std::min(wait.until, range.to);
    });
    EXPECT_EQ(spans->waits, expected);

    const auto space = std::array{Space::kVariable, Space::kLock, Space::kLabel, Space::kThread,
                                  Space::kSite}[random() % 5];
    const auto id = static_cast<std::uint32_t>(random() % 4);
    const bool forwards = random() % 2 == 0;
    const auto next = explorer.find(space, id, a, forwards);
    ASSERT_TRUE(next.ok());
    EventNumber nearest = 0;
    for (EventNumber n = 1; n <= trace.events.size(); ++n) {
      const Event& event = trace.events[n - 1];
      const bool begins = event.kind == EventKind::kBegin || event.kind == EventKind::kEnter;
      const bool matches = space == Space::kThread ? event.thread.value == id
                           : space == Space::kSite
                               ? event.site.value == id
                               : target_space(event.kind) == space && event.target == id &&
                                     (space != Space::kLabel || begins);
      if (!matches) continue;
      if (forwards && n >= a && nearest == 0) nearest = n;
      if (!forwards && n < a) nearest = n;
    }
    EXPECT_EQ(next->event, nearest);
    EXPECT_EQ(next->resume, 0U);
  }
}

// The pyramid, the checkpoints and the walk over single events are three ways to one answer.
TEST(Explore, answers_are_what_the_definition_says) {
  const Folder folder;
  for (std::uint64_t seed = 1; seed <= 600 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Trace trace = random_trace(seed, 1 + random() % 400);
    // Narrow buckets and few of them, so that they have to grow; likewise checkpoints.
    const IndexBuilder builder(std::uint64_t{1} << random() % 5, 8 + random() % 200,
                               std::uint64_t{1} << random() % 6, random() % 40);
    Explorer explorer = explorer_of(trace, folder.file("t.syn"), builder,
                                    static_cast<std::uint32_t>(1 + random() % 60));
    compare(trace, explorer, random);
  }
}

TEST(Explore, coarser_levels_are_asked_for_a_large_range) {
  const Folder folder;
  const Trace trace = random_trace(7, 40000);
  Explorer explorer =
      explorer_of(trace, folder.file("t.syn"), IndexBuilder(16, 1 << 20, 64, 1 << 20), 4096);
  for (const std::uint64_t columns : {10U, 100U, 1000U, 4000U}) {
    const auto view = explorer.view({1, 40001}, columns, ThreadId(0U), 6);
    ASSERT_TRUE(view.ok());
    EXPECT_LE(view->width, 40000 / columns);
    EXPECT_LE(view->events.size(), std::max<std::uint64_t>(256, 4 * columns) + 2);
    std::uint64_t total = 0;
    for (const std::uint64_t count : view->events) total += count;
    EXPECT_EQ(total, 40000U);
  }
}

/// STD text, opened as `syndrome explore` does.
Result<Opened> open_text(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return open_trace(path, {});
}

TEST(Explore, an_index_is_kept_and_found_again) {
  const Folder folder;
  const std::string path = folder.file("t.std");
  const std::string text = "T1|begin(f)|0\nT1|w(x)|a.c:1\nT2|r(x)|a.c:2\nT1|end(f)|0\n";
  const auto first = open_text(path, text);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(first->built);
  EXPECT_EQ(first->kept, path + ".idx");
  EXPECT_TRUE(fs::exists(path + ".idx.syn"));  // text has no single events that could be read
  const auto second = open_trace(path, {});
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->built);
  EXPECT_EQ(second->index, first->index);

  // Another trace of the same name, and of the same size.
  fs::remove(path);
  const auto other = open_text(path, "T1|begin(f)|0\nT1|r(x)|a.c:1\nT2|r(x)|a.c:2\nT1|end(f)|0\n");
  ASSERT_TRUE(other.ok());
  EXPECT_TRUE(other->built);
  // A copy that someone has changed.
  std::ofstream(path + ".idx.syn", std::ios::app) << "x";
  EXPECT_TRUE(open_trace(path, {})->built);
  // An index that is none.
  std::ofstream(path + ".idx") << "nothing";
  EXPECT_TRUE(open_trace(path, {})->built);
  EXPECT_FALSE(open_trace(path, {})->built);
}

TEST(Explore, where_the_folder_takes_no_files_the_cache_does) {
  // Nothing is read-only for root, so a folder stands in the place of the copy.
  const Folder folder;
  const std::string path = folder.file("t.std");
  fs::create_directories(path + ".idx.syn");
  ::setenv("XDG_CACHE_HOME", folder.file("cache").c_str(), 1);
  const auto first = open_text(path, "T1|w(x)|0\n");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_THAT(first->kept, testing::StartsWith(folder.file("cache")));
  EXPECT_FALSE(open_trace(path, {})->built);
  ::unsetenv("XDG_CACHE_HOME");
}

// Who can write into the folder of a trace must not make us write elsewhere, or believe what they
// say is in it.
TEST(Explore, nothing_is_written_through_a_link) {
  const Folder folder;
  const std::string path = folder.file("t.std");
  std::ofstream(folder.file("victim")) << "precious";
  for (const char* name : {"t.std.idx", "t.std.idx.syn"}) {
    fs::create_symlink("victim", folder.file(name));
  }
  const auto opened = open_text(path, "T1|w(x)|0\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_TRUE(opened->built);
  std::string content;
  std::getline(std::ifstream(folder.file("victim")) >> std::ws, content);
  EXPECT_EQ(content, "precious");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path + ".idx")));
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path + ".idx.syn")));
  EXPECT_FALSE(open_trace(path, {})->built);
}

TEST(Explore, an_index_that_may_be_anybodys_is_not_believed) {
  const Folder folder;
  const std::string path = folder.file("t.std");
  ASSERT_TRUE(open_text(path, "T1|w(x)|0\n").ok());
  const std::string index = path + ".idx";
  ASSERT_EQ(::chmod(index.c_str(), 0666), 0);
  EXPECT_TRUE(open_trace(path, {})->built);
  EXPECT_FALSE(open_trace(path, {})->built);
  fs::rename(index, folder.file("elsewhere"));
  fs::create_symlink("elsewhere", index);
  EXPECT_TRUE(open_trace(path, {})->built);
  if (::geteuid() != 0) return;  // only root can make files of two users
  EXPECT_FALSE(open_trace(path, {})->built);
  ASSERT_EQ(::chown(index.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(open_trace(path, {})->built);
}

TEST(Explore, who_may_not_read_a_trace_may_not_read_its_index) {
  const Folder folder;
  const std::string path = folder.file("t.std");
  std::ofstream(path) << "T1|w(x)|0\n";
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  ASSERT_TRUE(open_trace(path, {}).ok());
  for (const char* made : {".idx", ".idx.syn"}) {
    struct stat state{};
    ASSERT_EQ(::stat((path + made).c_str(), &state), 0);
    EXPECT_EQ(state.st_mode & 0777U, 0600U) << made;
  }
}

TEST(Explore, interrupting_leaves_nothing) {
  const Folder folder;
  const std::string path = folder.file("t.std");
  std::ofstream(path) << "T1|w(x)|0\n";
  OpenOptions options;
  options.interrupted = [] { return true; };
  EXPECT_FALSE(open_trace(path, options).ok());
  const auto files = std::distance(fs::directory_iterator(fs::path(path).parent_path()), {});
  EXPECT_EQ(files, 1);
}

// A damaged index is no index: whatever byte is wrong, and whatever the checksum says.
TEST(Explore, damaged_indexes_are_refused) {
  const Folder folder;
  const Trace trace = random_trace(3, 300);
  const IndexBuilder fresh(4, 1 << 20, 8, 1 << 20);
  IndexBuilder builder = fresh;
  std::vector<Event> copy = trace.events;
  builder.take({copy, 1});
  IndexFile file;
  file.index = builder.finish();
  file.index.threads = trace.names.table(Space::kThread).size();
  file.index.chunks = {{false, 0, 300, 24, 1}};
  const std::string whole = encode(file);
  ASSERT_TRUE(decode(whole).ok());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    EXPECT_FALSE(decode(damaged).ok()) << i;  // the checksum covers the header as well
    EXPECT_FALSE(decode(std::string_view(whole).substr(0, i)).ok()) << i;
  }
  // With a checksum that is right: what the counts say is held against the number of events.
  std::mt19937_64 random(1);
  std::size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    IndexFile wrong = file;
    Index& index = wrong.index;
    const auto some = [&random](std::size_t size) { return random() % size; };
    switch (round % 8) {
      case 0: index.events += 1 + some(1000); break;
      case 1:
        index.base.counts[some(index.base.counts.size())].key +=
            1 + static_cast<std::uint32_t>(some(1U << 31U));
        break;
      case 2:
        index.base.counts[some(index.base.counts.size())].count =
            static_cast<std::uint32_t>(some(3) * 5);
        break;
      case 3: index.chunks[0].count = static_cast<std::uint32_t>(some(300)); break;
      case 4: index.threads = some(2); break;
      case 5: index.stride *= 2; break;
      case 6: index.sketches.emplace_back(); break;
      default: index.checkpoints.at(1).blocks = {{ThreadId(0U), 0, 3, {}}};
    }
    const Result<IndexFile> read = decode(encode(wrong));
    refused += read.ok() ? 0 : 1;
    if (read.ok()) {
      EXPECT_EQ(read->index, wrong.index);
    }
  }
  EXPECT_GT(refused, 1500U);
}

/// What a client gets for its bytes; it may be slow.
std::string ask(std::uint16_t port, const std::string& bytes, bool close_early = false) {
  const trace::Fd fd(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  if (close_early) return {};
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(fd.get(), buffer, sizeof buffer)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  return answer;
}

struct Serving {
  std::unique_ptr<Server> server = std::move(*Server::listen(0));
  std::atomic<bool> stop = false;
  std::thread thread;

  explicit Serving(const Server::Handler& handler)
      : thread([this, handler] { server->serve(handler, [this] { return stop.load(); }); }) {}
  ~Serving() {
    stop = true;
    thread.join();
  }
  [[nodiscard]] std::string get(const std::string& path, const std::string& host = "",
                                const std::string& method = "GET") const {
    const std::string name = host.empty() ? "127.0.0.1:" + std::to_string(server->port()) : host;
    return ask(server->port(), method + " " + path + " HTTP/1.1\r\nHost: " + name + "\r\n\r\n");
  }
};

TEST(ExploreServer, only_who_knows_the_token_gets_an_answer) {
  const Serving serving([](const Request& request) {
    std::string text = request.path + ";";
    for (const auto& [name, value] : request.query) text += name + "=" + value + ";";
    return Answer{200, "text/plain", text};
  });
  const std::string token = serving.server->token();
  EXPECT_EQ(token.size(), 32U);
  EXPECT_EQ(serving.server->address(),
            "http://127.0.0.1:" + std::to_string(serving.server->port()) + "/" + token + "/");
  using testing::EndsWith;
  using testing::StartsWith;
  EXPECT_THAT(serving.get("/" + token + "/api/x?a=1&b=%3Cx+y%3e"),
              EndsWith("\r\n\r\napi/x;a=1;b=<x y>;"));
  EXPECT_THAT(serving.get("/" + token + "/", "localhost:" + std::to_string(serving.server->port())),
              StartsWith("HTTP/1.1 200 "));
  for (const std::string& path : {std::string("/"), "/" + token, "/x" + token.substr(1) + "/",
                                  "/" + token.substr(1) + "/", std::string("/api/trace")}) {
    EXPECT_THAT(serving.get(path), StartsWith("HTTP/1.1 403 ")) << path;
    EXPECT_THAT(serving.get(path, "", "POST"), StartsWith("HTTP/1.1 403 ")) << path;
  }
  // A name of the attacker's that leads to 127.0.0.1.
  EXPECT_THAT(serving.get("/" + token + "/", "evil.example"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(serving.get("/" + token + "/", "127.0.0.1"), StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(ask(serving.server->port(), "GET /" + token + "/ HTTP/1.1\r\n\r\n"),
              StartsWith("HTTP/1.1 403 "));
  EXPECT_THAT(serving.get("/" + token + "/", "", "POST"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(serving.get("/" + token + "/?a=%2"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(serving.server->port(), "nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask(serving.server->port(), "GET /" + std::string(2 * kMostRequest, 'a')),
              StartsWith("HTTP/1.1 431 "));
}

TEST(ExploreServer, clients_that_are_stuck_keep_nobody_waiting) {
  const std::string body(std::size_t{4} << 20U, 'x');
  const Serving serving([&body](const Request&) { return Answer{200, "text/plain", body}; });
  std::vector<trace::Fd> stuck;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(serving.server->port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string whole = "GET /" + serving.server->token() + "/ HTTP/1.1\r\nHost: 127.0.0.1:" +
                            std::to_string(serving.server->port()) + "\r\n\r\n";
  for (std::size_t i = 0; i < 2 * kMostClients; ++i) {
    stuck.emplace_back(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(stuck.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
              0);
    // Some never finish their request, some never take their answer.
    ::send(stuck.back().get(), whole.data(), i % 2 == 0 ? 9 : whole.size(), MSG_NOSIGNAL);
  }
  ask(serving.server->port(), whole, true);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(serving.get("/" + serving.server->token() + "/"), testing::EndsWith(body));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kRequestTime);
}

TEST(ExploreAnswers, are_json_and_escape_what_is_in_the_trace) {
  const Folder folder;
  const auto opened =
      open_text(folder.file("t.std"),
                "T1|begin(</script>\"f\\)|a.c:1\nT1|acq(m)|0\nT1|w(xy)|a.c:2\nT2|r(x)|0\n"
                "T1|rel(m)|0\nT2|acq(m)|0\nT1|end(f)|0\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  Explorer explorer(std::move(const_cast<Opened&>(*opened)));
  const Answers answers(explorer, "t.std", [] { return std::string("{}"); });
  const auto get = [&answers](const std::string& path,
                              std::map<std::string, std::string, std::less<>> query = {}) {
    return answers({path, std::move(query)});
  };
  using testing::HasSubstr;
  EXPECT_THAT(get("").body, HasSubstr("connect-src 'self'"));
  EXPECT_THAT(get("").body, HasSubstr(">served</script>"));
  EXPECT_THAT(get("api/trace").body, HasSubstr(R"("events":7,"threads":2)"));
  EXPECT_THAT(get("api/trace").body, HasSubstr(R"("lanes":[["T1",5],["T2",2]])"));
  EXPECT_THAT(
      get("api/events", {{"from", "1"}, {"count", "2"}}).body,
      HasSubstr(R"([1,0,"begin","begins </script>\"f\\","a.c:1"],[2,0,"acq","takes lock m",""])"));
  const std::string view = get("api/view", {{"from", "1"}, {"to", "7"}}).body;
  EXPECT_THAT(view, HasSubstr(R"("events":[1,1,1,1,1,1,1])"));
  EXPECT_THAT(view, HasSubstr(R"("blocks":[[0,1,7,"</script>\"f\\"]],"waits":[[1,4,6,"m"]])"));
  EXPECT_THAT(get("api/counts", {{"from", "2"}, {"to", "5"}}).body,
              HasSubstr(R"("kinds":[["r",1],["w",1],["acq",1],["rel",1]],"threads":2)"));
  EXPECT_THAT(get("api/names", {{"text", "X"}}).body,
              HasSubstr(R"(["variable",1,"x"],["variable",0,)"));
  EXPECT_EQ(get("api/find", {{"space", "variable"}, {"id", "1"}, {"from", "1"}}).body,
            R"({"event":4,"resume":0})");
  EXPECT_EQ(get("api/find", {{"space", "variable"}, {"id", "99"}}).status, 400);
  EXPECT_EQ(get("api/find", {{"space", "nothing"}, {"id", "0"}}).status, 400);
  EXPECT_EQ(get("api/view", {{"from", "x"}}).status, 400);
  EXPECT_EQ(
      get("api/view", {{"from", "99"}, {"to", "5"}, {"columns", "0"}, {"thread", "77"}}).status,
      200);
  EXPECT_EQ(get("api/other").status, 404);
  EXPECT_EQ(get("../../etc/passwd").status, 404);
}

TEST(ExploreAnswers, an_empty_trace_has_answers_too) {
  const Folder folder;
  Result<Opened> opened = open_text(folder.file("t.std"), "# nothing\n");
  if (!opened.ok()) return;  // what is no trace is refused, which is an answer
  Explorer explorer(std::move(*opened));
  const Answers answers(explorer, "t.std", [] { return std::string("{}"); });
  for (const char* path : {"api/trace", "api/view", "api/events", "api/counts"}) {
    EXPECT_EQ(answers({path, {}}).status, 200) << path;
  }
}

}  // namespace
}  // namespace syndrome::explore
