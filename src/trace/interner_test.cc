#include "trace/interner.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace syndrome::trace {
namespace {

TEST(Interner, GivesIdsInOrderOfFirstAppearance) {
  StringTable table;
  Interner interner(table);
  EXPECT_EQ(interner.intern("x"), 0U);
  EXPECT_EQ(interner.intern("y"), 1U);
  EXPECT_EQ(interner.intern("x"), 0U);
  EXPECT_EQ(table.size(), 2U);
}

TEST(Interner, KnowsWhatTheTableHeldBefore) {
  StringTable table;
  table.append("");
  table.append("exactly 9");
  table.append("a name of more than sixteen bytes");
  Interner interner(table);
  EXPECT_EQ(interner.intern(""), 0U);
  EXPECT_EQ(interner.intern("exactly 9"), 1U);
  EXPECT_EQ(interner.intern("a name of more than sixteen bytes"), 2U);
  EXPECT_EQ(interner.intern("new"), 3U);
}

TEST(Interner, TellsZeroBytesFromPadding) {
  StringTable table;
  Interner interner(table);
  using namespace std::string_view_literals;
  EXPECT_EQ(interner.intern("a"sv), 0U);
  EXPECT_EQ(interner.intern("a\0"sv), 1U);
  EXPECT_EQ(interner.intern("a\0\0"sv), 2U);
  EXPECT_EQ(interner.intern(""sv), 3U);
}

// Of 9 to 16 bytes, only the last 8 are kept beside the slot.
TEST(Interner, TellsNamesOfOneLengthApartByEveryByte) {
  for (const std::size_t length : {1U, 7U, 8U, 9U, 12U, 15U, 16U, 17U, 40U}) {
    StringTable table;
    Interner interner(table);
    const std::string base(length, 'a');
    ASSERT_EQ(interner.intern(base), 0U);
    for (std::size_t i = 0; i < length; ++i) {
      std::string other = base;
      other[i] = 'b';
      EXPECT_EQ(interner.intern(other), i + 1) << other;
    }
    EXPECT_EQ(interner.intern(base), 0U);
  }
}

// With this seed, the word is the sum of the first and the last 8 bytes.
TEST(Interner, TellsNamesWithOneWordApart) {
  StringTable table;
  Interner interner(table, 1);
  const std::string a = "baaaaaaaaaaaaaaa";
  const std::string b = "aaaaaaaabaaaaaaa";
  ASSERT_EQ(interner.key(a).word, interner.key(b).word);
  EXPECT_EQ(interner.intern(a), 0U);
  EXPECT_EQ(interner.intern(b), 1U);
  EXPECT_EQ(interner.intern(a), 0U);
  EXPECT_EQ(interner.intern(b), 1U);
}

TEST(Interner, AgreesWithAMapOnRandomNames) {
  std::mt19937 random(1);
  StringTable table;
  Interner interner(table);
  std::map<std::string, std::uint32_t> model;
  for (int i = 0; i < 200'000; ++i) {
    std::string name(random() % 24, ' ');
    // Few letters, so that names come again and share beginnings and ends.
    for (char& c : name) c = static_cast<char>('a' + random() % 2);
    const auto [it, fresh] = model.emplace(name, static_cast<std::uint32_t>(model.size()));
    std::string padded = name + "garbage!";
    const Interner::Key key = interner.padded_key(std::string_view(padded).substr(0, name.size()));
    std::uint32_t id = interner.find(key);
    ASSERT_EQ(id == Interner::kAbsent, fresh) << name;
    if (fresh) id = interner.add(key);
    ASSERT_EQ(id, it->second) << name;
    ASSERT_EQ(table[id], name);
    ASSERT_EQ(interner.find(interner.key(name)), id);
  }
  EXPECT_EQ(table.size(), model.size());
}

}  // namespace
}  // namespace syndrome::trace
