// Guards against: a process for each address, a report that waits for a symbolizer that does not
// answer, one that fails because there is none.

#include "report/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace syndrome::report {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

TEST(Address, is_a_module_an_offset_and_a_function) {
  const std::optional<Address> address = parse_address("/opt/my server+0x1a2B run(int, long)");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->module, "/opt/my server");
  EXPECT_EQ(address->offset, 0x1a2bU);
  EXPECT_EQ(address->function, "run(int, long)");
  EXPECT_EQ(parse_address("a+0x1")->function, "");
  for (const char* text :
       {"", "+0x1", "a+0x", "a+0xg", "a+0x1g", "a+1", "bank.cc:1:2 f", "a+0x11112222333344445"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

class Fake : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) / (std::string("syndrome-symbolizer-") + test->name());
    fs::remove_all(path_);
    fs::create_directories(path_);
    std::ofstream(path_ / "module") << "x";
  }
  void TearDown() override { fs::remove_all(path_); }

  std::string script(const std::string& text) {
    const fs::path file = path_ / "symbolizer";
    std::ofstream(file) << "#!/bin/sh\n" << text;
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }
  Address at(std::uint64_t offset) { return {(path_ / "module").string(), offset, "f"}; }

  fs::path path_;
};
using SymbolizerTest = Fake;

TEST_F(SymbolizerTest, one_process_answers_for_all_with_inlined_frames) {
  Symbolizer symbolizer({{script(R"(echo run >> "$(dirname "$0")/runs"
inner='{"FunctionName":"inner","FileName":"a.h","Line":7,"Column":3}'
outer='{"FunctionName":"outer","FileName":"a.cc","Column":0,"Line":'
while read -r module offset; do
  echo '{"Address":"'$offset'","Symbol":['"$inner,$outer"$((offset))'}]}'
done
)")},
                         milliseconds(1'000'000)});
  std::vector<Address> addresses;
  for (std::uint64_t i = 1; i <= 1000; ++i) addresses.push_back(at(i));
  symbolizer.prepare(addresses);
  symbolizer.prepare(addresses);
  EXPECT_EQ(symbolizer.runs(), 1U);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    const std::vector<Place>& places = symbolizer.places_of(at(i));
    ASSERT_EQ(places.size(), 2U);
    EXPECT_EQ(places[0].text, "a.h:7:3 inner");
    EXPECT_EQ(places[1].text, "a.cc:" + std::to_string(i) + " outer");
  }
}

TEST_F(SymbolizerTest, none_or_one_that_fails_is_no_error) {
  for (const std::string& program :
       {std::string("/no/such/program"), script("exit 1\n"), script("echo '{\"Symbol\": 7}'\n"),
        script("echo not json\n"), script("echo '{\"Symbol\":[{\"Line\":-1}]}'\n")}) {
    Symbolizer symbolizer({{program}, milliseconds(1'000'000)});
    symbolizer.prepare({at(1), at(2)});
    EXPECT_TRUE(symbolizer.places_of(at(1)).empty()) << program;
  }
}

TEST_F(SymbolizerTest, one_that_does_not_answer_is_stopped) {
  Symbolizer symbolizer({{script("exec sleep 1000\n")}, milliseconds(50)});
  symbolizer.prepare({at(1)});
  EXPECT_TRUE(symbolizer.places_of(at(1)).empty());
}

TEST_F(SymbolizerTest, a_module_that_is_not_there_is_not_asked_for) {
  Symbolizer symbolizer({{script("touch \"$0.ran\"\n")}, milliseconds(1'000'000)});
  symbolizer.prepare({{"/no/such/module", 1, ""}, {"/dev/zero", 1, ""}, {"a\"b/c", 1, ""}});
  EXPECT_EQ(symbolizer.runs(), 0U);
  EXPECT_FALSE(fs::exists(path_ / "symbolizer.ran"));
}

}  // namespace
}  // namespace syndrome::report
