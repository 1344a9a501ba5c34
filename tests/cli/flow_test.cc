// syndrome flow: the units in object files, programs and libraries, and in what is none.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/shell.h"

namespace syndrome::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kBank = R"(struct Account {
  long balance_;
  int log_;
  void add(int n);
};
void Account::add(int n) {
  long b = balance_;
  balance_ = b + n;
  log_ = 3;
}
int main() { Account a{}; a.add(1); }
)";

TEST(Flow, SaysWhatIsConnectedAndWhy) {
  const Shell shell;
  shell.write("bank.cc", kBank);
  ASSERT_EQ(shell.run("syndrome c++ -g -c bank.cc && syndrome c++ -g bank.cc -o bank &&"
                      "syndrome c++ -g -fPIC -shared bank.cc -o libbank.so")
                .code,
            0);
  for (const char* file : {"bank.o", "bank", "libbank.so"}) {
    const Outcome outcome = shell.run(std::string("syndrome flow ") + file);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("Account::add(int)\n"
                                       "  works on Account (16 bytes)\n"
                                       "  bank.cc:7 reads Account::balance_  ->  bank.cc:8 writes "
                                       "Account::balance_\n"
                                       "      data: what line 7 reads is part of what line 8 "
                                       "writes\n"))
        << file;
  }
  const Outcome none = shell.run("syndrome flow bank.o main");
  EXPECT_THAT(none.out, Not(HasSubstr("Account::add(int)\n")));
  EXPECT_THAT(shell.run("syndrome flow bank.o --between 7 8").out, HasSubstr("data: "));
  EXPECT_THAT(shell.run("syndrome flow bank.o --between 7 9").out,
              HasSubstr("lines 7 and 9 are not connected"));
  EXPECT_THAT(shell.run("syndrome flow bank.o --between 1 2").out,
              HasSubstr("no function has steps in line 1 and in line 2"));
}

TEST(Flow, RefusesWhatHasNoProbes) {
  const Shell shell;
  shell.write("bank.cc", kBank);
  shell.write("text", "no ELF");
  ASSERT_EQ(shell.run("clang++-19 -c bank.cc -o plain.o && syndrome c++ -g -c bank.cc").code, 0);
  const Outcome plain = shell.run("syndrome flow plain.o");
  EXPECT_EQ(plain.code, 2);
  EXPECT_THAT(plain.err, HasSubstr("no probes of this version"));
  EXPECT_EQ(shell.run("syndrome flow text").code, 2);
  EXPECT_EQ(shell.run("syndrome flow nowhere").code, 2);
  EXPECT_THAT(shell.run("syndrome flow bank.o nobody").err, HasSubstr("'nobody'"));
}

// Every file that is cut off, or has a byte that is another one, is read or refused.
TEST(Flow, ReadsDamagedFiles) {
  const Shell shell;
  shell.write("bank.cc", kBank);
  ASSERT_EQ(shell.run("syndrome c++ -g -c bank.cc").code, 0);
  const std::string whole = shell.read("bank.o");
  const std::size_t unit = whole.find("SYNU");
  ASSERT_NE(unit, std::string::npos);
  const auto read = [&](const std::string& bytes, std::size_t at) {
    shell.write("damaged.o", bytes);
    const int code = shell.run("syndrome flow damaged.o").code;
    EXPECT_TRUE(code == 0 || code == 2) << at << ": " << code;
  };
  for (std::size_t at = 0; at < whole.size(); at += whole.size() / 20 + 1) {
    read(whole.substr(0, at), at);
  }
  for (std::size_t at = unit; at < unit + 120; at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(0xff);
    read(damaged, at);
  }
}

}  // namespace
}  // namespace syndrome::test
