#include "fuzz/reader_seeds.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "check/samples/random_trace.h"
#include "enforce/plan/explore.h"
#include "enforce/plan/summary.h"
#include "enforce/profile.h"
#include "explore/index.h"
#include "explore/index_file.h"
#include "report/json.h"
#include "report/text.h"
#include "spec/spec.h"
#include "spec/suppressions.h"
#include "trace/capture_reader.h"
#include "trace/capture_testing.h"
#include "trace/capture_writer.h"
#include "trace/input.h"
#include "trace/std_format.h"
#include "trace/syn_format.h"
#include "trace/syn_reader.h"
#include "trace/syn_writer.h"
#include "trace/unit_file.h"
#include "trace/wellformed.h"

namespace syndrome::fuzz {
namespace {

using Strings = std::vector<std::string>;

/// Bytes as a file that has a name as long as this lives.
class File {
 public:
  explicit File(std::string_view bytes = {}) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::perror("memfd_create");
      std::abort();
    }
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string content() const {
    std::string bytes(static_cast<std::size_t>(::lseek(fd_, 0, SEEK_END)), '\0');
    if (::pread(fd_, bytes.data(), bytes.size(), 0) < 0) std::abort();
    return bytes;
  }

 private:
  int fd_;
  std::string path_;
};

template <class T>
T good(Result<T> result) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "a seed is none: %s\n", result.error().message.c_str());
  std::abort();
}
void good(const Status& status) {
  if (!status) std::abort();
}

/// All events of a source, and whether they are well-formed; every name is looked at.
bool read_source(Result<std::unique_ptr<trace::Source>> source) {
  if (!source) return false;
  std::size_t bytes = 0;
  for (;;) {
    const Result<Batch> batch = (*source)->next();
    if (!batch) return false;
    if (batch->empty()) break;
    for (const Event& event : batch->events) {
      bytes += (*source)->names().thread(event.thread).size();
      if (const auto space = target_space(event.kind)) {
        bytes += (*source)->names().of(*space, event.target).size();
      }
      bytes += (*source)->names().site(event.site).size();
    }
  }
  return bytes != SIZE_MAX;
}

bool read_trace(const std::string& bytes) {
  const File file(bytes);
  Result<trace::Input> input = trace::Input::open(file.path(), {1});
  return input && read_source(input->read());
}

/// The file with the checksums of its chunks made right, as far as it has chunks: whoever damages a
/// file on purpose does so, too.
std::string resealed(std::string bytes) {
  using trace::kChunkHeaderBytes;
  auto* const data = reinterpret_cast<std::byte*>(bytes.data());
  std::size_t at = trace::kFileHeaderBytes;
  while (at < bytes.size() && bytes.size() - at >= kChunkHeaderBytes) {
    std::byte* const head = data + at;
    const std::uint64_t stored = trace::load(head + 8, 4);
    at += kChunkHeaderBytes;
    const std::uint64_t here = std::min<std::uint64_t>(stored, bytes.size() - at);
    trace::store(head + 32, 8, trace::checksum({data + at, here}));
    trace::store(head + 40, 8, trace::checksum({head, 40}));
    at += here;
  }
  return bytes;
}

bool read_syn_file(const std::string& damaged) {
  const std::string bytes = resealed(damaged);
  const File file(bytes);
  (void)trace::read_syn_summary(file.path());
  (void)trace::is_capture(file.path());
  return read_trace(bytes);
}

bool read_recording(const std::string& damaged) {
  const std::string bytes = resealed(damaged);
  const File file(bytes);
  (void)trace::read_capture_summary(file.path());
  trace::CaptureSelection selection;
  selection.only_shared = true;
  std::shared_ptr<const trace::CaptureReduced> reduced;
  (void)read_source(trace::read_capture(file.path(), {1}, selection, reduced));
  return read_source(trace::read_capture(file.path(), {1}));
}

/// Through a file: what write_std and write_syn make of a random trace.
std::string written(std::uint64_t seed, bool syn) {
  const check::SmallTrace trace = check::random_trace(seed, {.orders = seed % 2 == 0});
  std::string name = "/tmp/syndrome-fuzz-XXXXXX";
  const int fd = ::mkstemp(name.data());
  if (fd < 0) std::abort();
  ::close(fd);
  {
    const auto sink =
        good(syn ? trace::write_syn(name, {.chunk_events = 16}) : trace::write_std(name));
    good(sink->append(trace.events, trace.names));
    good(sink->close());
  }
  std::string bytes;
  std::FILE* const file = std::fopen(name.c_str(), "rb");
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file)) {
    bytes.append(buffer.data(), got);
  }
  std::fclose(file);
  ::unlink(name.c_str());
  return bytes;
}

Strings many(bool syn) {
  Strings all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) all.push_back(written(seed, syn));
  return all;
}

Strings recordings() {
  using trace::testing::Words;
  trace::testing::UnitBuilder unit(0x555500000000);
  const std::size_t main_function = unit.function("main");
  const std::uint32_t reads = unit.site(unit::SiteKind::kRead, 8, "x", 0);
  const std::uint32_t writes = unit.site(unit::SiteKind::kWrite, 8, "Account::balance", 8);
  const std::uint32_t both = unit.site(unit::SiteKind::kReadWrite, 4);
  std::vector<std::byte> meta;
  trace::testing::add_meta(meta, wire::Meta::kProcess,
                           {wire::kAbi | (std::uint64_t{77} << 32U), 1, 1'000'000'000, 10, 20},
                           std::string_view("./a.out\0-x\0", 11));
  trace::testing::add_meta(meta, wire::Meta::kModule, {0x555500000000, 0x555500010000, 1},
                           "/home/ann/a.out");
  trace::testing::add_unit(meta, unit);
  trace::testing::add_meta(meta, wire::Meta::kThread, {0, 77}, "main");
  trace::testing::add_meta(meta, wire::Meta::kString, {0}, "lock");
  trace::testing::Versions versions;
  std::array<Words, 2> threads;
  std::uint64_t now = 100;
  constexpr std::uint64_t kHeap = 0x7f0000001000;
  constexpr std::uint64_t kLock = 0x7f0000002000;
  const std::uint64_t entry = unit.address(main_function);
  for (Words& words : threads) {
    words.enter(++now, entry);
    for (int i = 0; i < 6; ++i) {
      words.sync(++now, wire::Sync::kAcquire, kLock, versions.take(wire::Sync::kAcquire, kLock));
      words.access(++now, kHeap + 8 * static_cast<std::uint64_t>(i), reads);
      words.access(++now, kHeap, writes);
      words.access(++now, kHeap, both);
      words.range(++now, i % 2 == 0, kHeap, 64, reads);
      words.locals(++now, kHeap + 4096, 32);
      words.sync(++now, wire::Sync::kRelease, kLock, versions.take(wire::Sync::kRelease, kLock));
    }
    words.exit(++now, entry);
  }
  const File file;
  {
    auto writer = good(trace::CaptureWriter::create(file.path()));
    good(writer.meta(meta));
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
      good(writer.words(i, 0, threads[i].words()));
    }
    good(writer.close());
  }
  return {file.content()};
}

/// What an index of a random trace unpacks to: behind the checksum, which would refuse all else.
std::string index_row(std::uint64_t seed) {
  check::SmallTrace trace = check::random_trace(seed);
  explore::IndexBuilder builder;
  builder.take({trace.events, 1});
  explore::IndexFile file;
  file.trace = {1, 2, 3, 4};
  file.index = builder.finish();
  file.index.threads = trace.names.table(Space::kThread).size();
  file.index.chunks = {{.names = true, .space = 1, .count = 2, .offset = 64},
                       {.count = static_cast<std::uint32_t>(trace.events.size()), .offset = 200}};
  file.index.format = "std";
  file.index.warnings = {"a warning"};
  const std::vector<std::byte> row = explore::pack(file);
  return {reinterpret_cast<const char*>(row.data()), row.size()};
}

bool read_index(const std::string& bytes) {
  (void)explore::decode(bytes);
  return explore::unpack(std::as_bytes(std::span(bytes))).ok();
}

bool read_findings(const std::string& bytes) {
  const Result<report::SavedReports> saved = report::from_json(bytes);
  if (!saved) return false;
  (void)report::to_json(saved->reports, saved->array, {.stats = true});
  for (const report::Report& each : saved->reports) (void)report::to_text(each, {});
  return true;
}

Strings findings() {
  return {
      R"({"version":1,"tool":{"name":"syndrome","version":"0.1.0"},"trace":{"file":"t.std","format":"std",
"events":12,"threads":2,"variables":1,"locks":1,"blocks":1,"warnings":["w"]},"checks":[{"check":"atomicity",
"engine":"reach","verdict":"violated","seconds":0.1,"findings":[{"check":"atomicity","rule":"conflict-cycle",
"certainty":"observed","message":"m","event":12,"fingerprint":"f","block":2,"cycle":[{"from":4,"to":9},
{"from":9,"to":12}],"sites":[{"event":4,"thread":"T1","op":"r","target":"x","file":"a.c","line":3,"column":1,
"block":2,"locks":["m"],"held":[{"lock":"m","event":3,"file":"a.c","line":1}],"stack":[{"file":"a.c","line":3,
"function":"f"}],"deeper":2},{"event":9,"thread":"T2","op":"w","target":"x","file":"a.c","line":5},
{"event":12,"thread":"T1","op":"w","target":"x","block":2}],"blocks":[{"begin":2,"end":13,"thread":"T1",
"label":"f","file":"a.c","line":2}],"threads":[{"thread":"T2","fork":1,"creator":"T1","file":"a.c",
"line":9}],"count":2}],"notes":["n"],"stats":{"a":1}},{"check":"races","engine":"","verdict":"clean",
"seconds":0,"findings":[]}],"sources":[{"file":"a.c","changed":true,"lines":[{"line":3,"text":"x = 1;"}]}]})",
      R"([{"version":1,"tool":{"name":"syndrome","version":"0.1.0"},"trace":{"file":"t","events":9,"threads":2,
"variables":1,"locks":0,"blocks":0},"checks":[{"check":"atomic-sets","verdict":"violated","seconds":0,"findings":[{
"check":"atomic-sets","rule":"pattern","certainty":"observed","message":"m","event":3,"fingerprint":"f",
"pattern":1,"locations":["x"],"set":"S","events":[1,2,3],"units":[1,2],"sites":[{"event":1,"thread":"a","op":"r",
"target":"x"},{"event":2,"thread":"b","op":"w","target":"x"},{"event":3,"thread":"a","op":"w","target":"x"}]}]},
{"check":"nondeterminism","verdict":"violated","seconds":0,"findings":[{"check":"nondeterminism","rule":
"nondeterministic-read","certainty":"predicted","message":"m","event":7,"fingerprint":"g","read":7,"write":4,
"challenger":0,"schedule":[1,2,6,7],"variable":"x","sites":[{"event":4,"thread":"a","op":"w","target":"x"},
{"event":7,"thread":"b","op":"r","target":"x"}]}]}]}])"};
}

Strings profiles() {
  Strings all;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    all.push_back(enforce::to_json(enforce::random_plan_sample(seed).profile));
  }
  return all;
}

bool read_summary(const std::string& bytes) {
  (void)enforce::find_summary(bytes);
  return enforce::read_summary(bytes).ok();
}

bool read_units(const std::string& bytes) {
  const Result<std::vector<trace::UnitInFile>> units = trace::find_units(bytes);
  if (!units) return false;
  std::size_t all = 0;
  for (const trace::UnitInFile& one : *units) {
    for (const unit::Function& function : one.functions()) all += one.text(function.name).size();
    for (const unit::Site& site : one.sites()) all += one.text(site.file).size();
    all += one.directory().size() + one.flows().size();
  }
  return all != SIZE_MAX;
}

/// An ELF file with one section, and in it a unit.
Strings programs() {
  trace::testing::UnitBuilder unit(0);
  unit.function("main");
  unit.site(unit::SiteKind::kRead, 8, "x", 0);
  const std::vector<std::byte> bytes = unit.bytes();
  struct Section {
    std::uint32_t name = 0;
    std::uint32_t type = 1;   // SHT_PROGBITS
    std::uint64_t flags = 3;  // SHF_WRITE | SHF_ALLOC
    std::uint64_t address = 0;
    std::uint64_t offset = 64;
    std::uint64_t size = 0;
    std::uint64_t more[3] = {};
  } section;
  section.size = bytes.size();
  std::string elf(64, '\0');
  std::memcpy(elf.data(),
              "\x7f"
              "ELF\2\1\1",
              7);
  const std::uint64_t table = 64 + bytes.size();
  const std::uint16_t one = 1;
  const std::uint16_t size = sizeof section;
  std::memcpy(&elf[40], &table, 8);
  std::memcpy(&elf[58], &size, 2);
  std::memcpy(&elf[60], &one, 2);
  elf.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  elf.append(reinterpret_cast<const char*>(&section), sizeof section);
  return {elf};
}

std::vector<ReaderKind> make_kinds() {
  const std::vector<std::string_view> json = {
      "\"",      "{",   "}", "[", "]", ":", ",", "null", "-1", "1e999", "18446744073709551616",
      "\\ud800", "true"};
  return {
      {"std",
       [] { return many(false); },
       read_trace,
       {"|", "(", ")", "\n", "\r\n", "#", "acq", "rel", "begin", "end", "fork", "join", "%7C"}},
      {"csv",
       [] {
         return Strings{"r(x),,\n,w(x),\nstart(T2),,\n,acq(L),\n,rel(L),\njoin(T2),,\n,,sync(x)\n"};
       },
       read_trace,
       {",", "\n", "r(", "acq(", "start(T", "join(T", "sync(", ")"}},
      {"roadrunner",
       [] {
         return Strings{
             "[main: x]\n@ Enter(0,test/Test.run()V)\n@ Start(0,1)\n@ Acquire(1,@03)\n"
             "@ Rd(1,null.test/Test.x_I) f.java:1:2\n@ Wr(1,@04.test/Test.y_I)\n@ ARd(1,@05[3])\n"
             "@ Release(1,@03)\n@ Join(0,1)\n@ Exit(0,test/Test.run()V)\n"};
       },
       read_trace,
       {"@ ", "Enter(", "Exit(", ")", ",", "@03", "\n", "Rd(", "AWr("}},
      {"syn", [] { return many(true); }, read_syn_file, {}},
      {"recording", recordings, read_recording, {}},
      {"spec",
       [] {
         return Strings{
             "[blocks]\natomic = [\"Account::transfer\", \"re:^store::.*\"]\ndeterministic = "
             "[\"quicksort\"]\nexclude = [\"main\"]\n[atomic-sets]\nS1 = [\"x0\", \"x1\"]\n"
             "[atomic-sets.options]\ndefault = \"class\"\n[units]\nwork = [\"Account::*\"]\n"
             "[units.for]\nS1 = [\"transfer\"]\n"};
       },
       [](const std::string& bytes) { return spec::parse_spec(bytes).ok(); },
       {"[", "]", "=", "\"", "re:", "(", ")*", "{1000}", "[[", "\"\"\"", "#", "0x", "1979-05-27"}},
      {"suppressions",
       [] { return Strings{"# known\nrace:third_party/*.cc\nconflict-cycle:^Cache::refresh$\n"}; },
       [](const std::string& bytes) { return spec::parse_suppressions(bytes).ok(); },
       {":", "*", "^", "$", "#", "\n", "race_top:", "called_from_lib:", "atomicity:"}},
      {"findings", findings, read_findings, json},
      {"profile", profiles,
       [](const std::string& bytes) { return enforce::read_profile(bytes).ok(); }, json},
      {"summary",
       [] {
         return Strings{
             "U\t1\t0\nS\t_Z1fv\nS\t/a.cc\nS\tvoid ()\nF\t1\t2\t3\t77\tia\t3\nB\t1,2\nS\tx\n"
             "A\tr\tg\t2\t4\t5\t0\t4\nB\t2\nC\tL\t4\t2\t6\t7\t0\t-\t0\t1\nB\t\nX\n"};
       },
       read_summary,
       {"\t", "\n", "U", "S", "F", "B", "A", "C", "X", "4294967295", "-1"}},
      {"program", programs, read_units, {}},
      {"index", [] { return Strings{index_row(1), index_row(2), index_row(3)}; }, read_index, {}},
  };
}

}  // namespace

const std::vector<ReaderKind>& reader_kinds() {
  static const std::vector<ReaderKind> kKinds = make_kinds();
  return kKinds;
}

}  // namespace syndrome::fuzz
