// Guards the profile: rules of Figure 5 on traces written down, and on random ones against the
// definition.

#include "enforce/infer/infer.h"

#include <gtest/gtest.h>

#include "enforce/infer/oracle.h"

namespace syndrome::enforce {
namespace {

Profile infer(InferSample& sample, const InferOptions& options) {
  Inference inference(options);
  // In pieces, as a reader gives them.
  const std::span<Event> all(sample.events);
  for (std::size_t i = 0; i < all.size(); i += 7) {
    inference.take({all.subspan(i, std::min<std::size_t>(7, all.size() - i)), i + 1}, sample.names);
  }
  return inference.result(sample.names);
}

TEST(Infer, AgreesWithTheDefinitionOnRandomTraces) {
  const InferOptions plain;
  const InferOptions together{{{"S::a", "S::b"}}};
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
  EXPECT_FALSE(read_profile("{\"kind\": \"syndrome-profile\", \"version\": 1, \"runs\": \"x\"}"));
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
