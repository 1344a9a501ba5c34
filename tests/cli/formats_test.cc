// Reports for machines and browsers: SARIF (valid by the schema that is kept in testdata/, as the
// standard publishes it), JUnit XML, and the page.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/json_schema.h"
#include "cli/traces.h"
#include "support/shell.h"

namespace syndrome::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const JsonSchema& sarif_schema() {
  static const JsonSchema kSchema(
      json::parse(read_file(source_directory() / "tests/cli/testdata/sarif-schema-2.1.0.json")));
  return kSchema;
}

/// Names that try to break out of whatever they are put into.
constexpr std::string_view kHostile =
    "</script><script>alert(1)</script>|begin(<b>&\"'x]]>)|a\"b\"<c>#%zz?.c:1:1\n"
    "</script><script>alert(1)</script>|r(x\xff<img src=x>)|a\"b\"<c>#%zz?.c:2:1 f<int>(a&)\n"
    "t2|w(x\xff<img src=x>)|/tmp/\xc3\xa4 b.c:7:1\n"
    "</script><script>alert(1)</script>|w(x\xff<img src=x>)|nowhere\n"
    "</script><script>alert(1)</script>|end(<b>&\"'x]]>)|0\n";

class Formats : public testing::Test {
 protected:
  Formats() {
    shell_.write("clean.std", kClean);
    shell_.write("violated.std", kViolated);
    shell_.write("hostile.std", kHostile);
  }

  json sarif(const std::string& arguments, int code) const {
    const Outcome outcome = shell_.run("syndrome check --format sarif " + arguments);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    json log = json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(log.is_discarded()) << outcome.out;
    EXPECT_THAT(sarif_schema().errors(log), IsEmpty()) << arguments;
    return log;
  }

  const Shell shell_;
};

TEST_F(Formats, TheSchemaRefusesWhatIsNoSarif) {
  json log = sarif("violated.std", 1);
  const auto broken = [&log](const char* pointer, const json& value) {
    json other = log;
    other[json::json_pointer(pointer)] = value;
    return sarif_schema().errors(other);
  };
  EXPECT_THAT(broken("/version", "2.0.0"), Not(IsEmpty()));
  EXPECT_THAT(broken("/runs/0/tool/driver/rules/0/helpUri", "not a uri"), Not(IsEmpty()));
  EXPECT_THAT(broken("/runs/0/results/0/level", "fatal"), Not(IsEmpty()));
  EXPECT_THAT(broken("/runs/0/results/0/nonsense", 1), Not(IsEmpty()));
  EXPECT_THAT(broken("/runs/0/results/0/codeFlows/0/threadFlows", json::array()), Not(IsEmpty()));
  EXPECT_THAT(broken("/runs/0/results/0/locations/0/physicalLocation/region/startLine", 0),
              Not(IsEmpty()));
  log["runs"][0].erase("tool");
  EXPECT_THAT(sarif_schema().errors(log), Not(IsEmpty()));
}

TEST_F(Formats, SarifHasARuleForEachOfOurs) {
  const json log = sarif("clean.std", 0);
  const json& run = log["runs"][0];
  EXPECT_EQ(run["results"], json::array());
  std::vector<std::string> ids;
  for (const json& rule : run["tool"]["driver"]["rules"]) {
    ids.push_back(rule["id"]);
    EXPECT_THAT(rule["help"]["text"].get<std::string>(), HasSubstr("Usual fix")) << rule["id"];
    EXPECT_THAT(rule["helpUri"].get<std::string>(), StartsWith("https://")) << rule["id"];
  }
  for (const std::string rule :
       {"conflict-cycle", "race", "conflict-in-block", "external-cycle", "pattern", "set-cycle"}) {
    EXPECT_THAT(ids, testing::Contains(rule));
  }
}

TEST_F(Formats, SarifShowsTheInterleaving) {
  const json log = sarif("violated.std", 1);
  ASSERT_EQ(log["runs"][0]["results"].size(), 1U);
  const json& result = log["runs"][0]["results"][0];
  EXPECT_EQ(result["ruleId"], "conflict-cycle");
  const json& rules = log["runs"][0]["tool"]["driver"]["rules"];
  EXPECT_EQ(rules[result["ruleIndex"].get<std::size_t>()]["id"], "conflict-cycle");
  EXPECT_EQ(result["level"], "error");
  EXPECT_FALSE(result["partialFingerprints"]["syndrome/v1"].get<std::string>().empty());
  const json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "bank.c");
  EXPECT_EQ(place["region"]["startLine"], 2);

  // One thread flow for each thread; together, in the order of execution, they are the trace.
  const json& flows = result["codeFlows"][0]["threadFlows"];
  ASSERT_EQ(flows.size(), 2U);
  std::map<int, std::string> order;
  for (const json& flow : flows) {
    int last = 0;
    for (const json& at : flow["locations"]) {
      const int now = at["executionOrder"];
      EXPECT_GT(now, last);
      last = now;
      order[now] = at["location"]["message"]["text"];
    }
  }
  std::vector<std::string> told;
  for (const auto& [at, text] : order) told.push_back(text);
  EXPECT_THAT(
      told, ElementsAre("t1 begins transfer (event 1)", "t1 reads x (event 2)",
                        "t2 begins pay (event 3)", "t2 writes x (event 4)", "t2 ends pay (event 5)",
                        "t1 writes x (event 6)", "t1 ends transfer (event 7)"));
}

TEST_F(Formats, SarifOfEveryCheckAndOfHostileNamesIsValid) {
  sarif("--check all examples/bank.std", 1);
  sarif("--check all --all violated.std clean.std", 1);
  const json log = sarif("--check all hostile.std", 1);
  const std::string text = log.dump();
  EXPECT_THAT(text, HasSubstr("a%22b%22%3Cc%3E%23%25zz%3F.c"));
  ASSERT_EQ(shell_
                .run("syndrome trace generate --events 5000 --threads 6 --violations 20 --seed 3"
                     " -o many.std")
                .code,
            0);
  const json many = sarif("--check atomicity,races,determinism,atomic-sets --all many.std", 1);
  EXPECT_GE(many["runs"][0]["results"].size(), 20U);
}

TEST_F(Formats, SarifSaysWhatIsSuppressedAndWhatIsKnown) {
  shell_.write("known.supp", "conflict-cycle:^transfer$\n");
  json log = sarif("--suppressions known.supp violated.std", 0);
  ASSERT_EQ(log["runs"][0]["results"].size(), 1U);
  EXPECT_EQ(log["runs"][0]["results"][0]["suppressions"][0]["kind"], "external");
  EXPECT_THAT(log["runs"][0]["results"][0]["suppressions"][0]["justification"].get<std::string>(),
              HasSubstr("line 1, conflict-cycle:^transfer$"));

  ASSERT_EQ(shell_.run("syndrome check --format json -o base.json violated.std").code, 1);
  log = sarif("--baseline base.json violated.std", 0);
  EXPECT_EQ(log["runs"][0]["results"][0]["baselineState"], "unchanged");
  log = sarif("--baseline base.json --check atomicity,races violated.std", 1);
  std::vector<std::string> states;
  for (const json& result : log["runs"][0]["results"]) states.push_back(result["baselineState"]);
  EXPECT_THAT(states, testing::Contains("new"));
}

TEST_F(Formats, SavedFindingsBecomeTheSameSarifAndPage) {
  const std::string calls =
      "echo 'race:^x$' > s.supp\n"
      "for f in sarif junit html; do\n"
      "  syndrome check --check all --suppressions s.supp --format $f -o direct.$f violated.std\n"
      "done\n"
      "syndrome check --check all --suppressions s.supp --stats --format json -o saved.json "
      "violated.std\n"
      "syndrome report saved.json --format sarif -o again.sarif\n"
      "syndrome report saved.json --format html -o again.html\n"
      "cmp direct.sarif again.sarif && wc -c < again.html";
  const Outcome outcome = shell_.run(calls);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
}

TEST_F(Formats, JUnit) {
  shell_.write("known.supp", "race:^x$\n");
  const Outcome outcome = shell_.run(
      "syndrome check --format junit --check atomicity,races --suppressions known.supp "
      "violated.std clean.std hostile.std");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "));
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("<testsuite name=\"violated.std\" tests=\"4\" failures=\"1\" errors=\"0\" "
                      "skipped=\"2\""),
            HasSubstr("classname=\"syndrome.atomicity\""), HasSubstr("type=\"conflict-cycle\""),
            HasSubstr("<skipped message=\"suppressed by line 1\"/>"),
            HasSubstr("begins transfer"),  // the picture
            Not(HasSubstr("<script")), Not(HasSubstr("<img")), Not(HasSubstr("\xff"))));
}

TEST_F(Formats, ThePageCarriesWhatItShows) {
  const Outcome outcome =
      shell_.run("syndrome check --check all --format html -o page.html hostile.std");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const std::string page = shell_.read("page.html");
  EXPECT_THAT(page, AllOf(StartsWith("<!doctype html>"), HasSubstr("default-src 'none'")));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("SYNDROME-REPORTS")), Not(HasSubstr("alert(1)")),
                          Not(HasSubstr("src=\"http")), Not(HasSubstr("url(h"))));
}

TEST_F(Formats, AThousandFindingsAreASmallPage) {
  ASSERT_EQ(shell_
                .run("syndrome trace generate --events 200000 --threads 8 --violations 1000 "
                     "--seed 5 -o many.std && "
                     "syndrome check --all --format html -o many.html many.std")
                .code,
            1);
  EXPECT_LT(shell_.read("many.html").size(), 3'000'000U);
}

TEST_F(Formats, AFormatThatIsNotThereIsNamed) {
  const Outcome outcome = shell_.run("syndrome check --format sarf violated.std");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("did you mean 'sarif'?"), HasSubstr("junit")));
}

// The timeline: slices are properly nested on every track, and each flow leads from one to another.
TEST_F(Formats, ATimelineForPerfetto) {
  const Outcome outcome = shell_.run(
      "syndrome check --format json -o found.json violated.std\n"
      "syndrome trace convert violated.std --to perfetto --findings found.json -o -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json timeline = json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(timeline.is_discarded()) << outcome.out;
  std::map<std::pair<int, int>, int> depth;
  std::map<int, std::vector<std::string>> flows;
  std::vector<std::string> threads;
  std::vector<std::string> blocks;
  for (const json& event : timeline["traceEvents"]) {
    const std::string phase = event["ph"];
    const std::pair<int, int> track(event["pid"], event["tid"]);
    if (phase == "B") ++depth[track];
    if (phase == "B") blocks.push_back(event["name"]);
    if (phase == "E") {
      EXPECT_GE(--depth[track], 0);
    }
    if (phase == "s" || phase == "f") flows[event["id"]].push_back(phase);
    if (event.value("name", "") == "thread_name" && event["pid"] == 1) {
      threads.push_back(event["args"]["name"]);
    }
  }
  for (const auto& [track, open] : depth) EXPECT_EQ(open, 0);
  EXPECT_THAT(threads, ElementsAre("t1", "t2"));
  EXPECT_THAT(blocks, ElementsAre("transfer", "pay"));
  EXPECT_EQ(flows.size(), 2U);
  for (const auto& [id, phases] : flows) EXPECT_THAT(phases, ElementsAre("s", "f"));
}

TEST_F(Formats, ATimelineShowsWhoHeldALockAndWhoWaited) {
  shell_.write("locks.std",
               "a|r(x)|1\na|acq(m)|2\nb|r(y)|3\na|w(x)|4\na|rel(m)|5\nb|acq(m)|6\n"
               "b|rel(m)|7\nb|w(\"<y>\\)|8\n");
  const Outcome outcome = shell_.run("syndrome trace convert locks.std --to perfetto -o -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json timeline = json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
  ASSERT_FALSE(timeline.is_discarded()) << outcome.out;
  std::vector<std::string> holders;
  std::vector<std::string> waits;
  for (const json& event : timeline["traceEvents"]) {
    if (event["ph"] == "B" && event["pid"] == 2) holders.push_back(event["name"]);
    if (event.value("cat", "") == "wait") waits.push_back(event["name"]);
  }
  EXPECT_THAT(holders, ElementsAre("a", "b"));
  EXPECT_THAT(waits, ElementsAre("waits for lock m, which a has"));
}

TEST_F(Formats, TheTransactionsAroundAFinding) {
  const Outcome outcome = shell_.run(
      "syndrome check --format json -o found.json violated.std\n"
      "syndrome trace convert violated.std --to dot --findings found.json -o -");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("label=\"t1: transfer\\nevents 1 to 6\", color=red"),
            HasSubstr("label=\"t2: pay\\nevent 4\"]"),
            HasSubstr("t0 -> t1 [color=red, fontcolor=red, penwidth=2, label=\"A: reads x (2)"),
            HasSubstr("t1 -> t0 [color=red, fontcolor=red, penwidth=2, label=\"B: writes x (4)")));
  const Outcome none = shell_.run("syndrome trace convert violated.std --to dot -o -");
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("--findings"));
  const Outcome beyond = shell_.run(
      "syndrome trace convert violated.std --to dot --findings found.json --finding 2 -o -");
  EXPECT_EQ(beyond.code, 2);
  EXPECT_THAT(beyond.err, HasSubstr("has 1 findings"));
}

TEST_F(Formats, ManualPagesSayWhatHelpSays) {
  const Outcome outcome = shell_.run("syndrome man check");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(StartsWith(".TH SYNDROME\\-CHECK 1"), HasSubstr("\\fB\\-\\-baseline\\fR"),
                    HasSubstr("Exit code: 0 clean, 1 findings"), HasSubstr(".SH SEE ALSO")));
  const Outcome all = shell_.run("syndrome man --all pages && ls pages");
  EXPECT_THAT(all.out, AllOf(HasSubstr("syndrome.1\n"), HasSubstr("syndrome-trace-convert.1\n"),
                             HasSubstr("syndrome-run.1\n")));
  EXPECT_EQ(shell_.run("syndrome man frobnicate").code, 2);
}

TEST_F(Formats, BashCompletesCommandsOptionsAndValues) {
  const auto complete = [&](const std::string& words) {
    std::string list;
    int count = 0;
    for (std::size_t at = 0; at <= words.size(); ++count) {
      const std::size_t end = std::min(words.find(' ', at), words.size());
      list += "'" + words.substr(at, end - at) + "' ";
      at = end + 1;
    }
    shell_.write("try.bash", "source ./c.bash\nCOMP_WORDS=(" + list +
                                 ")\nCOMP_CWORD=" + std::to_string(count - 1) +
                                 "\n_syndrome\nprintf '%s ' \"${COMPREPLY[@]}\"\n");
    const Outcome outcome = shell_.run("syndrome completion bash > c.bash && bash --norc try.bash");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  };
  EXPECT_EQ(complete("syndrome che"), "check ");
  EXPECT_EQ(complete("syndrome trace conv"), "convert ");
  EXPECT_EQ(complete("syndrome check --base"), "--baseline ");
  EXPECT_EQ(complete("syndrome check --format s"), "sarif ");
  EXPECT_EQ(complete("syndrome check --suppressions viol"), "violated.std ");
  EXPECT_EQ(complete("syndrome check viol"), "violated.std ");
}

/// What is typed, and what the Tab key makes of it.
const std::vector<std::pair<std::string, std::string>> kCompletions = {
    {"syndrome che", "check"},
    {"syndrome trace conv", "convert"},
    {"syndrome check --base", "--baseline"},
    {"syndrome check --format s", "sarif"},
    {"syndrome explore --index", "--index-only"},
    {"syndrome check viol", "violated.std"},
};

TEST_F(Formats, FishCompletesThemToo) {
  if (shell_.run("command -v fish").code != 0) GTEST_SKIP() << "there is no fish";
  for (const auto& [typed, completed] : kCompletions) {
    const Outcome outcome = shell_.run(
        "syndrome completion fish > c.fish && fish --no-config -c 'source c.fish; complete -C\"" +
        typed + "\" | string split \\t -f1'");
    EXPECT_EQ(outcome.out, completed + "\n") << outcome.err;
  }
}

TEST_F(Formats, ZshCompletesThemToo) {
  if (shell_.run("command -v zsh").code != 0) GTEST_SKIP() << "there is no zsh";
  // Completion is part of the line editor, which wants a terminal: a shell in a pseudo terminal,
  // and a key that shows the line as it is.
  shell_.write("try.zsh", R"(zmodload zsh/zpty
zpty z zsh -f
zpty -w z 'PS1= RPS1= PROMPT_EOL_MARK=; fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D'
zpty -w z 'show() { print -r -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^X" show; print REA""DY'
zpty -r -m z out '*READY*'
for line in "$@"; do
  zpty -w -n z "$line"$'\t\x18'
  zpty -r -m z out '*<<*>>*'
  print -r -- "${${out#*<<}%%>>*}"
done
zpty -d z
)");
  std::string lines;
  std::string expected;
  for (const auto& [typed, completed] : kCompletions) {
    lines += " '" + typed + "'";
    expected += typed.substr(0, typed.rfind(' ') + 1) + completed + " \n";
  }
  const Outcome outcome =
      shell_.run("syndrome completion zsh > _syndrome && zsh -f try.zsh" + lines);
  EXPECT_EQ(outcome.out, expected) << outcome.err;
}

}  // namespace
}  // namespace syndrome::test
