// From a probe to the file: nothing is lost, in whatever way the program ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "event/wire.h"
#include "support/shell.h"
#include "trace/capture_index.h"

namespace syndrome {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Recording {
  trace::CaptureIndex index;
  std::map<std::uint32_t, std::vector<std::uint64_t>> words;  // by thread
};

Recording load(const std::string& path) {
  Recording recording;
  Result<trace::CaptureIndex> index = trace::read_capture_index(path);
  EXPECT_TRUE(index.ok()) << (index.ok() ? "" : index.error().message);
  if (!index) return recording;
  recording.index = std::move(*index);
  Result<trace::WordLoader> loader = trace::WordLoader::open(path);
  EXPECT_TRUE(loader.ok());
  for (const auto& thread : recording.index.threads) {
    std::vector<std::uint64_t>& words = recording.words[thread.number];
    for (const trace::WordsAt& chunk : thread.chunks) {
      EXPECT_EQ(chunk.first, words.size());
      const Status loaded = loader->load(chunk, words);
      EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
    }
  }
  return recording;
}

std::vector<std::uint64_t> accesses(const std::vector<std::uint64_t>& words) {
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!wire::is_control(words[i])) {
      addresses.push_back(wire::address_of(words[i]));
      continue;
    }
    const wire::Control kind = wire::kind_of(words[i]);
    if (kind == wire::Control::kSync) i += wire::operands_of(words[i]);
    if (kind == wire::Control::kRange) i += 2;
  }
  return addresses;
}

struct SyncRecord {
  wire::Sync kind;
  std::uint64_t object;
  std::uint64_t version;
};

std::vector<SyncRecord> syncs(const std::vector<std::uint64_t>& words) {
  std::vector<SyncRecord> records;
  for (std::size_t i = 0; i + 3 < words.size(); ++i) {
    const std::uint64_t word = words[i];
    if (!wire::is_control(word) || wire::kind_of(word) != wire::Control::kSync) continue;
    records.push_back(
        {wire::sync_of(word), wire::value_of(words[i + 1]), wire::value_of(words[i + 2])});
    i += wire::operands_of(word);
  }
  return records;
}

class Record : public ::testing::Test {
 protected:
  test::Outcome record(const std::string& arguments, const std::string& options = "") {
    return shell_.run("syndrome record -o run.syn " + options + " -- " EMITTER " " + arguments);
  }
  [[nodiscard]] std::string path(const std::string& name = "run.syn") const {
    return (shell_.directory() / name).string();
  }
  test::Shell shell_;
};

TEST_F(Record, KeepsEveryWordInOrder) {
  ASSERT_EQ(record("count 3 200000 progress").code, 0);
  const Recording recording = load(path());
  EXPECT_TRUE(recording.index.complete);
  std::size_t counted = 0;
  for (const auto& [thread, words] : recording.words) {
    const std::vector<std::uint64_t> seen = accesses(words);
    if (seen.empty()) continue;
    ++counted;
    ASSERT_EQ(seen.size(), 200000u);
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], i + 1);
  }
  EXPECT_EQ(counted, 3u);
}

TEST_F(Record, AThreadWaitsWhenTheRecorderIsBehind) {
  // Many times the buffer.
  ASSERT_EQ(record("count 2 1000000 progress", "--buffer 64K").code, 0);
  const Recording recording = load(path());
  EXPECT_GT(recording.index.words, 2'000'000u);
}

TEST_F(Record, KillLosesNothing) {
  // SYNDROME_KILLS: the figure of the issue is 200; ten of them run with every test.
  const char* const wanted = std::getenv("SYNDROME_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 10;
  std::mt19937_64 random(7);
  for (int i = 0; i < kills; ++i) {
    const double seconds = 0.005 + 0.0001 * static_cast<double>(random() % 1500);
    const test::Outcome outcome =
        shell_.run("rm -f progress; syndrome record -o run.syn -- " EMITTER
                   " count 3 100000000000 progress & r=$!; while ! [ -s progress ]; do sleep 0.01; "
                   "done; sleep " +
                   std::to_string(seconds) + "; pkill -9 -P $r -x emitter; wait $r; exit $?");
    ASSERT_EQ(outcome.code, 137) << outcome.err;
    const Recording recording = load(path());
    EXPECT_TRUE(recording.index.complete);
    const std::string bytes = shell_.read("progress");
    std::vector<std::uint64_t> done;
    for (std::size_t at = 0; at + 8 <= bytes.size() && done.size() < 3; at += 64) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + at, sizeof(value));
      done.push_back(value);
    }
    // Which thread of the emitter has which number is not known here: compare them sorted.
    std::vector<std::uint64_t> seen;
    for (const auto& [thread, words] : recording.words) {
      const std::vector<std::uint64_t> addresses = accesses(words);
      for (std::size_t k = 0; k < addresses.size(); ++k) ASSERT_EQ(addresses[k], k + 1);
      if (!addresses.empty()) seen.push_back(addresses.size());
    }
    seen.resize(3);
    std::ranges::sort(seen);
    std::ranges::sort(done);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_GE(seen[k], done[k]);
  }
}

TEST_F(Record, SurvivesTheDeathOfSyndromeItself) {
  const test::Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- " EMITTER
      " count 2 100000000000 progress & r=$!; while ! [ -s progress ]; do sleep 0.01; done; "
      "p=$(pgrep -P $r -x emitter); c=$(pgrep -P $r -x syndrome-record); kill -9 $r; sleep 0.1; "
      "kill -9 $p; while [ -e /proc/$c/exe ]; do sleep 0.01; done");
  const Recording recording = load(path());
  EXPECT_TRUE(recording.index.complete) << outcome.err;
  EXPECT_GT(recording.index.words, 1000u);
}

TEST_F(Record, ExitCodesAreTheProgramsOwn) {
  EXPECT_EQ(record("exit 0").code, 0);
  EXPECT_EQ(record("exit 42").code, 42);
  EXPECT_EQ(record("abort").code, 128 + 6);
  EXPECT_EQ(shell_.run("syndrome record -o x.syn -- ./not-there").code, 127);
  EXPECT_EQ(shell_.run("syndrome record -o x.syn -- /etc/passwd").code, 126);
}

TEST_F(Record, ArgumentsAreTheProgramsOwn) {
  const std::string words = "'' 'a b' -- --help -o -q '[1,2]' '[]' '@x' '%%' '\"' \"'\" '{}'";
  const std::string show = "'printf \"<%s>\" \"$@\"' sh ";
  const std::string wanted = shell_.run("sh -c " + show + words).out;
  EXPECT_EQ(shell_.run("syndrome record -o run.syn -- sh -c " + show + words).out, wanted);
  EXPECT_EQ(shell_.run("syndrome record -qo run.syn sh -c " + show + words).out, wanted);
  EXPECT_EQ(shell_.run("syndrome record -q --output=run.syn sh -c " + show + words).out, wanted);
  EXPECT_THAT(shell_.run("syndrome record -- true").err, HasSubstr("--output is required"));
  EXPECT_THAT(shell_.run("syndrome record -o run.syn --").err, HasSubstr("PROG is required"));
}

TEST_F(Record, SaysNothingWhenAllIsWell) {
  const test::Outcome outcome = record("exit 0");
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(Record, TheEnvironmentIsTheProgramsOwn) {
  const test::Outcome plain = shell_.run(EMITTER " env");
  const test::Outcome recorded = record("env");
  EXPECT_EQ(plain.out, recorded.out);
}

TEST_F(Record, AnUninstrumentedProgramGetsAMessage) {
  const test::Outcome outcome = shell_.run("syndrome record -o run.syn -- true");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("syndrome c++"));
  EXPECT_NE(shell_.run("test -e run.syn").code, 0);
}

TEST_F(Record, AScriptMayStartTheProgram) {
  const test::Outcome outcome =
      shell_.run("syndrome record -o run.syn -- sh -c '" EMITTER " exit 0; " EMITTER " exit 3'");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_TRUE(load(path()).index.complete);
  EXPECT_EQ(shell_.run("ls run.syn.* | wc -l").out, "1\n");
}

TEST_F(Record, AForkedChildHasATraceOfItsOwn) {
  ASSERT_EQ(record("fork").code, 0);
  EXPECT_TRUE(load(path()).index.complete);
  const std::string child = shell_.run("ls run.syn.*").out;
  ASSERT_FALSE(child.empty());
  EXPECT_GT(load(path(child.substr(0, child.size() - 1))).index.words, 0u);
}

TEST_F(Record, TwoRecordingsDoNotWriteToOneFile) {
  const test::Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- " EMITTER
      " count 2 100000000000 progress & r=$!; while ! [ -s progress ]; do sleep 0.01; done;"
      " ln -s run.syn other; echo first $r; syndrome record -o other -- touch ran; echo code $?;"
      " pkill -9 -P $r -x emitter; wait $r; test -e ran && echo it ran");
  const std::string first = outcome.out.substr(6, outcome.out.find('\n') - 6);
  EXPECT_THAT(outcome.out, HasSubstr("code 2"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("it ran")));
  EXPECT_THAT(outcome.err, HasSubstr("other is being written by process " + first +
                                     " (`syndrome record -o run.syn -- "));
  EXPECT_THAT(outcome.err, HasSubstr("record into another file"));
  const Recording recording = load(path());
  EXPECT_TRUE(recording.index.complete);
  EXPECT_GT(recording.index.words, 1000u);
  // It is free at once, also after a recording that found nothing to record.
  EXPECT_EQ(shell_
                .run("set -e; for i in 1 2 3 4 5; do syndrome record -o run.syn -- " EMITTER
                     " exit 0; syndrome record -o run.syn -- true; done")
                .code,
            0);
}

TEST_F(Record, AProgramThatOutlivesItsRecordKeepsItsFile) {
  const test::Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- " EMITTER
      " count 2 100000000000 progress & r=$!; while ! [ -s progress ]; do sleep 0.01; done;"
      " p=$(pgrep -P $r -x emitter); kill -9 $r; wait $r;"
      " syndrome record -o run.syn -- true; echo code $?; kill -9 $p;"
      " until syndrome record -o run.syn -- true 2>/dev/null; do sleep 0.05; done");
  EXPECT_THAT(outcome.out, HasSubstr("code 2"));
  EXPECT_THAT(outcome.err, HasSubstr("which has ended"));
  EXPECT_TRUE(load(path()).index.complete);
}

TEST_F(Record, AChildDoesNotWriteToWhatAnotherRecordingWrites) {
  // The child's number is known before it runs: a shell's own.
  const test::Outcome outcome = shell_.run(
      "syndrome record -o run.syn -- sh -c '" EMITTER
      " exit 0; sh -c \"echo \\$\\$ >pid; while ! [ -e taken ]; do sleep 0.01; done; exec " EMITTER
      " exit 0\"' & r=$!; while ! [ -s pid ]; do sleep 0.01; done; p=$(cat pid);"
      " syndrome record -o run.syn.$p -- " EMITTER
      " count 1 100000000000 progress & s=$!; while ! [ -s progress ]; do sleep 0.01; done;"
      " touch taken; wait $r; echo code $?; pkill -9 -P $s -x emitter; wait $s;"
      " mv run.syn.$p second; mv run.syn.$p.2 child");
  EXPECT_THAT(outcome.out, HasSubstr("code 0")) << outcome.err;
  EXPECT_THAT(outcome.err, IsEmpty());
  EXPECT_TRUE(load(path("second")).index.complete);
  EXPECT_GT(load(path("second")).index.words, 1000u);
  EXPECT_TRUE(load(path("child")).index.complete);
}

TEST_F(Record, AScriptMayClearAwayTheTraceBefore) {
  ASSERT_EQ(
      shell_.run("syndrome record -o run.syn -- sh -c 'rm -f run.syn; " EMITTER " exit 0'").code,
      0);
  EXPECT_TRUE(load(path()).index.complete);
}

TEST_F(Record, AFolderThatCannotBeWrittenCostsOnlyTheTrace) {
  const test::Outcome outcome =
      shell_.run("syndrome record -o no/such/folder.syn -- " EMITTER " exit 5");
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("no/such/folder.syn"));
  EXPECT_THAT(outcome.err, HasSubstr("unrecorded"));
}

TEST_F(Record, AFullDiskCostsOnlyTheTrace) {
  const test::Outcome outcome = shell_.run("syndrome record -o /dev/full -- " EMITTER
                                           " count 2 1000000 progress; echo code $?");
  EXPECT_THAT(outcome.out, HasSubstr("code 0"));
  EXPECT_THAT(outcome.err, HasSubstr("/dev/full"));
  EXPECT_THAT(outcome.err, HasSubstr("no longer recorded"));
}

TEST_F(Record, ADeadRecorderCostsOnlyTheTrace) {
  // Many times the buffer, so that a thread must wait for the one that is dead.
  const test::Outcome outcome = shell_.run(
      "syndrome record -o run.syn --buffer 64K -- " EMITTER
      " count 2 300000000 progress & pid=$!; while [ ! -s run.syn ]; do sleep 0.01; done;"
      " kill -9 $(pgrep -P $pid -x syndrome-record);"
      " wait $pid; echo code $?");
  EXPECT_THAT(outcome.out, HasSubstr("code 0"));
  EXPECT_THAT(outcome.err, HasSubstr("the recorder ended before the program"));
}

TEST_F(Record, ALimitOnFilesCostsOnlyTheTrace) {
  // 4 blocks of 1024 bytes: less than a buffer.
  const test::Outcome outcome = shell_.run(
      "bash -c 'ulimit -f 4; syndrome record -o run.syn -- " EMITTER " exit 7; echo code $?'");
  EXPECT_THAT(outcome.out, HasSubstr("code 7"));
  EXPECT_THAT(outcome.err, HasSubstr("syndrome: "));
}

TEST_F(Record, VersionsOfALockAlternate) {
  ASSERT_EQ(record("locks 4 2000").code, 0);
  const Recording recording = load(path());
  // All records of the lock, by version: acquire, release, acquire, … each pair of one thread.
  std::map<std::uint64_t, std::map<std::uint64_t, std::pair<wire::Sync, std::uint32_t>>> by_object;
  for (const auto& [thread, words] : recording.words) {
    for (const SyncRecord& record : syncs(words)) {
      if (record.kind == wire::Sync::kAcquire || record.kind == wire::Sync::kRelease) {
        by_object[record.object][record.version] = {record.kind, thread};
      }
    }
  }
  std::size_t most = 0;
  for (const auto& [object, records] : by_object) {
    most = std::max(most, records.size());
    bool held = false;
    std::uint32_t holder = 0;
    for (const auto& [version, what] : records) {
      EXPECT_EQ(what.first == wire::Sync::kRelease, held);
      if (held) {
        EXPECT_EQ(what.second, holder);
      }
      held = !held;
      holder = what.second;
    }
  }
  EXPECT_EQ(most, 16000u);
}

TEST_F(Record, VersionsOfAnAtomicAreTheOrderOfItsValues) {
  const test::Outcome outcome = record("atomics 4 3000");
  ASSERT_EQ(outcome.code, 0);
  // Each line: the values that one thread got, in its order.
  std::vector<std::vector<std::uint64_t>> values;
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    values.emplace_back(std::istream_iterator<std::uint64_t>(numbers),
                        std::istream_iterator<std::uint64_t>());
  }
  const Recording recording = load(path());
  std::vector<std::vector<std::uint64_t>> versions;
  for (const auto& [thread, words] : recording.words) {
    std::vector<std::uint64_t> of_thread;
    for (const SyncRecord& record : syncs(words)) {
      if (record.kind == wire::Sync::kAtomicRmw) of_thread.push_back(record.version);
    }
    if (!of_thread.empty()) versions.push_back(of_thread);
  }
  ASSERT_EQ(versions.size(), values.size());
  // A shard may be shared with something else, so versions need not be dense: compare ranks.
  std::set<std::uint64_t> all;
  for (const auto& of_thread : versions) all.insert(of_thread.begin(), of_thread.end());
  ASSERT_EQ(all.size(), 12000u);
  std::map<std::uint64_t, std::uint64_t> rank;
  for (const std::uint64_t version : all) rank.emplace(version, rank.size());
  for (auto& of_thread : versions) {
    for (std::uint64_t& version : of_thread) version = rank.at(version);
  }
  EXPECT_THAT(versions, ::testing::UnorderedElementsAreArray(values));
}

TEST_F(Record, TenThousandThreadsShareAFewBuffers) {
  ASSERT_EQ(record("threads 10000").code, 0);
  const Recording recording = load(path());
  EXPECT_TRUE(recording.index.complete);
  EXPECT_EQ(recording.index.threads.size(), 10001u);
}

}  // namespace
}  // namespace syndrome
