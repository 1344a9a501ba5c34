// Guards the profile: rules of Figure 5 on traces written down, and on random ones against the
// definition.

#include "enforce/infer/infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "enforce/infer/oracle.h"

namespace syndrome::enforce {
namespace {

void lead_past(Inference& inference, InferSample& sample) {
  // In pieces, as a reader gives them.
  const std::span<Event> all(sample.events);
  for (std::size_t i = 0; i < all.size(); i += 7) {
    inference.take({all.subspan(i, std::min<std::size_t>(7, all.size() - i)), i + 1}, sample.names);
  }
}

Profile infer(InferSample& sample, const InferOptions& options) {
  Inference inference(options);
  lead_past(inference, sample);
  return inference.result(sample.names);
}

TEST(Infer, AgreesWithTheDefinitionOnRandomTraces) {
  const InferOptions plain;
  const InferOptions together{{{"S::a", "S::b"}, {"y", "x"}, {"z", "y"}}, false};
  std::uint64_t pairs = 0;
  std::uint64_t guarded = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    InferSample sample = random_infer_sample(seed);
    const InferOptions& options = seed % 3 == 0 ? together : plain;
    const Profile expected = infer_by_definition(sample.events, sample.names, options);
    const Profile found = infer(sample, options);
    ASSERT_EQ(to_json(found), to_json(expected)) << "seed " << seed;
    for (const auto& [name, variable] : found.variables) {
      for (const auto& [key, pair] : variable.pairs) {
        ++pairs;
        if (is_guarded(variable, pair)) ++guarded;
      }
    }
  }
  EXPECT_GT(pairs, 3000U);
  EXPECT_GT(guarded, 50U);
}

TEST(Infer, ProfilesMergeAndComeBackFromTheirText) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    InferSample a = random_infer_sample(seed);
    InferSample b = random_infer_sample(seed + 1000);
    Profile ab = infer(a, {});
    Profile ba = infer(b, {});
    const Profile only_a = ab;
    ab.merge(ba);
    ba.merge(only_a);
    ASSERT_EQ(to_json(ab), to_json(ba)) << "seed " << seed;
    const Result<Profile> read = read_profile(to_json(ab));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(*read, ab) << "seed " << seed;
  }
  EXPECT_FALSE(read_profile("{}"));
  EXPECT_THAT(read_profile("{\"kind\": 1").error().message,
              testing::HasSubstr("byte 11: this is not a profile"));
  EXPECT_FALSE(read_profile("{\"kind\": 1}"));
  EXPECT_FALSE(read_profile("[1e999]"));
  EXPECT_FALSE(read_profile("{\"kind\": \"syndrome-profile\", \"version\": 1, \"runs\": \"x\"}"));
}

TEST(Infer, CompanionsAgreeWithTheDefinition) {
  std::uint64_t together = 0;
  Companions all;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    InferSample sample = random_infer_sample(seed);
    InferOptions options;
    options.correlate = true;
    if (seed % 3 == 0) options.together = {{"x", "y"}};
    Inference inference(options);
    lead_past(inference, sample);
    const Companions found = inference.companions(sample.names);
    ASSERT_EQ(found, companions_by_definition(sample.events, sample.names, options))
        << "seed " << seed;
    together += found.together.size();
    all.merge(found);
  }
  EXPECT_GT(together, 1000U);
  EXPECT_TRUE(all.shared.contains("S::a+S::b")) << "as the annotation says";
  EXPECT_TRUE(all.shared.contains("x+y")) << "as the option says";
}

// By definition: disjoint, every two of a group correlated, and no two that could be one.
TEST(Infer, GroupsAreWhatIsCorrelated) {
  std::mt19937_64 random(1);
  std::size_t larger = 0;
  for (int round = 0; round < 2000; ++round) {
    Companions companions;
    const Group names = {"a", "b", "c", "d", "e"};
    const std::uint64_t likely = 1 + random() % 4;
    for (int f = 0; f < 6; ++f) {
      Group here;
      for (const std::string& name : names) {
        if (random() % 5 < likely) here.push_back(name);
      }
      for (const std::string& name : here) {
        companions.cases[name].insert(std::string(1, static_cast<char>('f' + f)));
        if (random() % 4 != 0) companions.shared.insert(name);
        for (const std::string& other : here) {
          if (name < other) {
            companions.together[{name, other}].insert(std::string(1, static_cast<char>('f' + f)));
          }
        }
      }
    }
    const unsigned percent = 50 + static_cast<unsigned>(random() % 51);
    const auto agree = [&](const std::string& a, const std::string& b) {
      std::set<std::string> both = companions.cases[a];
      std::erase_if(both, [&](const auto& f) { return !companions.cases[b].contains(f); });
      return companions.shared.contains(a) && companions.shared.contains(b) && both.size() >= 2 &&
             both.size() * 100 >= companions.cases[a].size() * percent &&
             both.size() * 100 >= companions.cases[b].size() * percent;
    };
    const auto could_be_one = [&](const Group& a, const Group& b) {
      return std::ranges::all_of(a, [&](const auto& one) {
        return std::ranges::all_of(b, [&](const auto& other) { return agree(one, other); });
      });
    };
    std::vector<Group> groups = companions.groups(percent);
    std::set<std::string> seen;
    for (const Group& group : groups) {
      ASSERT_GE(group.size(), 2U);
      larger += group.size() > 2 ? 1U : 0U;
      for (const std::string& name : group) {
        ASSERT_TRUE(seen.insert(name).second) << round;
        for (const std::string& other : group) {
          ASSERT_TRUE(name == other || agree(name, other)) << round;
        }
      }
    }
    for (const std::string& name : names) {
      if (!seen.contains(name)) groups.push_back({name});
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(could_be_one(groups[i], groups[j])) << round;
    }
  }
  EXPECT_GT(larger, 100U);
}

TEST(Infer, GroupsWithANameInCommonAreOne) {
  VariableGroups groups;
  groups.add({"b", "a"});
  groups.add({"d", "c"});
  EXPECT_EQ(*groups.name_of("a"), "a+b");
  groups.add({"e", "c", "a"});
  EXPECT_EQ(*groups.name_of("d"), "a+b+c+d+e");
  EXPECT_EQ(groups.name_of("f"), nullptr);
  groups.add({"f"});
  EXPECT_EQ(groups.name_of("f"), nullptr) << "alone";
}

TEST(Infer, CallsInALoopAreDifferentActivations) {
  // f calls g twice from one place; the pair across the two calls lies in f.
  InferSample sample;
  sample.names.table(Space::kThread).append("T1");
  sample.names.table(Space::kThread).append("T2");
  sample.names.table(Space::kVariable).append("x");
  sample.names.table(Space::kLabel).append("f");
  sample.names.table(Space::kLabel).append("g");
  sample.names.table(Space::kSite).append("a.c:1:1 f");
  sample.names.table(Space::kSite).append("a.c:2:1 g");
  const auto add = [&sample](EventKind kind, std::uint32_t thread, std::uint32_t target,
                             std::uint32_t site) {
    Event event;
    event.kind = kind;
    event.thread = ThreadId(thread);
    event.target = target;
    event.site = SiteId(site);
    sample.events.push_back(event);
  };
  add(EventKind::kEnter, 0, 1, 0);
  for (int i = 0; i < 2; ++i) {
    add(EventKind::kEnter, 0, 2, 1);
    add(EventKind::kRead, 0, 0, 2);
    add(EventKind::kExit, 0, 2, 0);
    add(EventKind::kRead, 1, 0, 2);
  }
  const Profile profile = infer(sample, {});
  const PairKey expected{"f", {"a.c:1:1 f", SpotKind::kCall}, {"a.c:1:1 f", SpotKind::kCall}};
  ASSERT_TRUE(profile.variables.contains("x"));
  const auto& pairs = profile.variables.at("x").pairs;
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs.begin()->first, expected);
  EXPECT_EQ(pairs.begin()->second.type, AtomicType::kRead);
}

TEST(Infer, NamesOfInstances) {
  EXPECT_EQ(split_instance("Account::balance@55d0~2").variable, "Account::balance");
  EXPECT_EQ(split_instance("Account::balance@55d0~2").instance, "@55d0~2");
  EXPECT_EQ(split_instance("t[]:7ffe33").variable, "t[]");
  EXPECT_EQ(split_instance("counter").variable, "counter");
  EXPECT_EQ(split_instance("counter~3").variable, "counter");
  EXPECT_EQ(split_instance("7f482d9bc3f0").variable, "");
  EXPECT_EQ(lock_name("Account::mutex@55d0"), "Account::mutex");
}

}  // namespace
}  // namespace syndrome::enforce
