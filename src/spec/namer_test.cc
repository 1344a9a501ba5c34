// Guards against: an entry that means a function which nobody chose.

#include "spec/namer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "event/names.h"
#include "spec/block_mapper.h"
#include "spec/pattern.h"
#include "spec/spec.h"

namespace syndrome::spec {
namespace {

const std::vector<std::string> kLabels = {
    "put(int)",
    "put(long)",
    "store::put(int)",
    "a::store::put(int)",
    "bool store::put<int>(int)",
    "bool store::put<long>(long)",
    "Account::transfer(int, Account&) const",
    "bank::Account::transfer(int, Account&) const",
    "main::$_0::operator()() const",
    "main::$_1::operator()() const",
    "Pool::work()::{lambda()#1}::operator()() const",
    "Pool::work()",
    "Set<int>::operator()(int)",
    "Set<long>::operator()(int)",
    "Set<int>::operator<(Set<int> const&) const",
    "Set<int>::operator unsigned long() const",
    "Queue::~Queue()",
    "Queue::Queue()",
    "(anonymous namespace)::helper(int)",
    "helper",
    "a label with spaces (and more)",
    "re:not a regular expression(",
    "quote\"and\\backslash",
    "test/Test.run()V",
    "Test.run()V",
    "transfer",
    "x",
    "x::*",
};

std::string toml(const std::vector<std::string>& entries) {
  std::string list;
  for (const std::string& entry : entries) {
    list += "\"";
    for (const char c : entry)
      list += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    list += "\",";
  }
  return "[" + list + "]";
}

TEST(Namer, writes_names_as_people_do) {
  const Namer namer(kLabels);
  const auto all = [](std::string_view) { return true; };
  EXPECT_EQ(namer.entry_for("Pool::work()", all), "Pool::work");
  EXPECT_EQ(namer.entry_for("main::$_0::operator()() const", all), "main::$_0::operator()");
  EXPECT_EQ(namer.entry_for("bool store::put<int>(int)", all), "store::put<int>");
  const auto only = [](std::string_view label) {
    return [label](std::string_view other) { return other == label; };
  };
  EXPECT_EQ(namer.entry_for("put(int)", only("put(int)")), "::put(int)");
  EXPECT_EQ(namer.entry_for("a::store::put(int)", only("a::store::put(int)")), "a::store::put");
  EXPECT_EQ(namer.entry_for("bad\nname", all), std::nullopt);
  EXPECT_EQ(namer.entry_for("bad\xff", all), std::nullopt);
  EXPECT_EQ(namer.entry_for("\xc3\xa4rger()", all), "\xc3\xa4rger");
}

TEST(Namer, a_spec_of_its_entries_means_exactly_what_was_chosen) {
  const Namer namer(kLabels);
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::map<std::string, bool, std::less<>> chosen;
    for (const std::string& label : kLabels) chosen[label] = random() % 2 == 0;
    std::vector<std::string> atomic;
    std::vector<std::string> exclude;
    for (const auto& [label, is_atomic] : chosen) {
      const auto entry = namer.entry_for(label, [&, mine = is_atomic](std::string_view other) {
        return chosen.find(other)->second == mine;
      });
      ASSERT_TRUE(entry.has_value()) << label;
      (is_atomic ? atomic : exclude).push_back(*entry);
    }
    const std::string text =
        "[blocks]\natomic = " + toml(atomic) + "\nexclude = " + toml(exclude) + "\n";
    const Result<Spec> spec = parse_spec(text);
    ASSERT_TRUE(spec.ok()) << spec.error().message << "\n" << text;
    Names names;
    std::vector<Event> events;
    for (const std::string& label : kLabels) {
      Event event;
      event.kind = EventKind::kEnter;
      event.target = names.table(Space::kLabel).append(label);
      events.push_back(event);
    }
    names.table(Space::kThread).append("T1");
    BlockMapper mapper({.spec = &*spec});
    Batch batch{events, 1};
    mapper.apply(batch, names);
    for (std::size_t i = 0; i < kLabels.size(); ++i) {
      ASSERT_EQ(events[i].kind == EventKind::kBegin, chosen[kLabels[i]]) << kLabels[i] << "\n"
                                                                         << text;
    }
    ASSERT_TRUE(mapper.unmatched(names).empty()) << text;
  }
}

TEST(OfLibrary, is_told_by_the_name_behind_the_return_type) {
  for (const std::string_view name :
       {"std::mutex::lock()", "void std::swap<int>(int&, int&)", "__gthread_mutex_lock(int*)",
        "unsigned long const& std::max<unsigned long>(unsigned long const&, unsigned long const&)",
        "_GLOBAL__sub_I_main.cc", "__gnu_cxx::exchange(int)", "extern time",
        "extern std::chrono::_V2::steady_clock::now()"}) {
    EXPECT_TRUE(of_library(name)) << name;
  }
  for (const std::string_view name : {"main", "my::std::f()", "f(std::mutex&)", "std_lock()",
                                      "Queue::push(std::string)", "externs", "time"}) {
    EXPECT_FALSE(of_library(name)) << name;
  }
}

}  // namespace
}  // namespace syndrome::spec
