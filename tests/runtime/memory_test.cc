// Memory: allocations, and what libc's functions read and write.

#include <errno.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <new>

#include "event/wire.h"
#include "fake_log.h"
#include "recorded.h"

namespace syndrome {
namespace {

struct Seen {
  wire::Sync kind;
  std::uintptr_t object;
  std::uint64_t bytes;
  bool operator==(const Seen&) const = default;
};

// The allocations and frees between, of whatever address.
template <typename Body>
std::vector<Seen> allocations(Body body) {
  fake_start();
  body();
  fake_stop();
  std::size_t count = 0;
  const FakeRecord* const records = fake_records(&count);
  std::vector<Seen> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<wire::Sync>(records[i].sync);
    if (records[i].kind != FakeRecord::kSync) continue;
    if (kind != wire::Sync::kAlloc && kind != wire::Sync::kFree) continue;
    seen.push_back({kind, records[i].object, records[i].operand});
  }
  return seen;
}

std::uintptr_t at(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}
constexpr auto kAlloc = wire::Sync::kAlloc;
constexpr auto kFree = wire::Sync::kFree;

TEST(InterposedMemory, EachWayToAllocate) {
  void* memory[9] = {};
  std::size_t usable = 0;
  const auto seen = allocations([&] {
    memory[0] = malloc(10);
    memory[1] = calloc(3, 5);
    memory[2] = memalign(64, 20);
    memory[3] = aligned_alloc(64, 64);
    posix_memalign(&memory[4], 64, 30);
    memory[5] = valloc(40);
    memory[6] = ::operator new(50);
    memory[7] = strdup("123456789");
    memory[8] = reallocarray(nullptr, 4, 15);
    usable = malloc_usable_size(memory[0]);
    free(memory[0]);
    ::operator delete(memory[6]);
  });
  const std::uint64_t sizes[] = {10, 15, 20, 64, 30, 40, 50, 10, 60};
  ASSERT_EQ(seen.size(), 11u);
  EXPECT_EQ(seen[0], (Seen{kAlloc, at(memory[0]), usable}));
  for (const std::size_t i : {1u, 2u, 3u, 4u, 5u, 7u, 8u}) {
    EXPECT_EQ(seen[i], (Seen{kAlloc, at(memory[i]), malloc_usable_size(memory[i])})) << i;
  }
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(seen[i].object, at(memory[i])) << i;
    EXPECT_GE(seen[i].bytes, sizes[i]) << i;
  }
  EXPECT_EQ(seen[9], (Seen{kFree, at(memory[0]), usable}));
  EXPECT_EQ(seen[10].kind, kFree);
  EXPECT_EQ(seen[10].object, at(memory[6]));
  for (const int i : {1, 2, 3, 4, 5, 7, 8}) free(memory[i]);
}

TEST(InterposedMemory, ReallocEndsTheOldBlockFirst) {
  auto* const old = static_cast<char*>(malloc(100));
  strcpy(old, "kept");
  const std::size_t had = malloc_usable_size(old);
  char* grown = nullptr;
  const std::uintptr_t before = at(old);
  const auto seen = allocations([&] { grown = static_cast<char*>(realloc(old, 100'000)); });
  EXPECT_STREQ(grown, "kept");
  const std::size_t has = malloc_usable_size(grown);
  EXPECT_EQ(seen, (std::vector<Seen>{{kFree, before, had}, {kAlloc, at(grown), has}}));
  const auto failed = allocations([&] {
    errno = 0;
    void* volatile none = realloc(grown, SIZE_MAX / 2);
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(errno, ENOMEM);
  });
  EXPECT_EQ(failed, (std::vector<Seen>{{kFree, at(grown), has}, {kAlloc, at(grown), has}}));
  free(grown);
}

TEST(InterposedMemory, FailuresAreNotAllocations) {
  volatile std::size_t huge = SIZE_MAX / 2;
  EXPECT_TRUE(allocations([&] {
                EXPECT_EQ(malloc(huge), nullptr);
                EXPECT_EQ(calloc(huge, 4), nullptr);
                errno = 0;
                EXPECT_EQ(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                          MAP_FAILED);
                EXPECT_EQ(errno, EINVAL);
                free(nullptr);
              }).empty());
}

TEST(InterposedMemory, Mappings) {
  void* memory = nullptr;
  void* moved = nullptr;
  const auto seen = allocations([&] {
    memory = mmap(nullptr, 5000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    moved = mremap(memory, 8192, 1 << 20, MREMAP_MAYMOVE);
    munmap(moved, 1 << 20);
  });
  EXPECT_EQ(seen, (std::vector<Seen>{{kAlloc, at(memory), 8192},
                                     {kFree, at(memory), 8192},
                                     {kAlloc, at(moved), 1 << 20},
                                     {kFree, at(moved), 1 << 20}}));
}

class InterposedStrings : public testing::Test {
 protected:
  InterposedStrings() {
    recorded.name(a, "a");
    recorded.name(b, "b");
    recorded.name(b + 3, "b+3");
  }
  char a[64] = "hello";
  char b[64] = "one";
  Recorded recorded;
};

TEST_F(InterposedStrings, Copies) {
  EXPECT_EQ(recorded.run([&] {
    memcpy(b, a, 6);
    memmove(b, a, 0);
    strcpy(b, "one");
    strcat(b, a);
    strncpy(b, a, 20);
    memset(b, 0, 9);
    strncat(b, a, 2);
    EXPECT_EQ(stpcpy(b, a), b + 5);
    EXPECT_EQ(mempcpy(b, a, 3), b + 3);
  }),
            (Lines{"0 read a 6", "0 write b 6", "0 write b 4", "0 read b 4", "0 read a 6",
                   "0 write b+3 6", "0 read a 6", "0 write b 20", "0 write b 9", "0 read b 1",
                   "0 read a 2", "0 write b 3", "0 read a 6", "0 write b 6", "0 read a 3",
                   "0 write b 3"}));
  EXPECT_STREQ(b, "hello");
}

TEST_F(InterposedStrings, Reads) {
  EXPECT_EQ(recorded.run([&] {
    EXPECT_EQ(strlen(a), 5u);
    EXPECT_EQ(strnlen(a, 2), 2u);
    EXPECT_NE(strcmp(a, b), 0);
    EXPECT_EQ(strncmp(a, "help", 3), 0);
    EXPECT_EQ(strcasecmp(a, "HELLO"), 0);
    EXPECT_NE(memcmp(a, b, 4), 0);
    EXPECT_EQ(memchr(a, 'l', 5), a + 2);
    EXPECT_EQ(memchr(a, 'x', 5), nullptr);
    EXPECT_EQ(strchr(a, 'l'), a + 2);
    EXPECT_EQ(strchr(a, 'x'), nullptr);
    EXPECT_EQ(strrchr(a, 'l'), a + 3);
    EXPECT_EQ(strstr(a, "lo"), a + 3);
    EXPECT_EQ(strspn(a, "eh"), 2u);
  }),
            (Lines{"0 read a 6", "0 read a 2", "0 read a 1", "0 read b 1", "0 read a 3",
                   "0 read a 6", "0 read a 4", "0 read b 4", "0 read a 3", "0 read a 5",
                   "0 read a 3", "0 read a 6", "0 read a 6", "0 read a 6", "0 read a 6"}));
}

TEST_F(InterposedStrings, Printing) {
  EXPECT_EQ(recorded.run([&] {
    EXPECT_EQ(snprintf(b, 4, "%d", 12345), 5);
    EXPECT_EQ(sprintf(b, "%s", "xy"), 2);
    EXPECT_EQ(snprintf(nullptr, 0, "%d", 1), 1);
  }),
            (Lines{"0 write b 4", "0 write b 3"}));
}

TEST_F(InterposedStrings, Files) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  iovec pieces[2] = {{a, 2}, {b, 3}};
  recorded.name(ends, "ends");
  EXPECT_EQ(recorded.run([&] {
    EXPECT_EQ(write(ends[1], a, 5), 5);
    EXPECT_EQ(read(ends[0], b, 64), 5);
    EXPECT_EQ(writev(ends[1], pieces, 2), 5);
    EXPECT_EQ(readv(ends[0], pieces, 2), 5);
    errno = 0;
    EXPECT_EQ(read(-1, b, 64), -1);
    EXPECT_EQ(errno, EBADF);
    int others[2];
    EXPECT_EQ(pipe(others), 0);
    close(others[0]);
    close(others[1]);
  }),
            (Lines{"0 read a 5", "0 write b 5", "0 read a 2", "0 read b 3", "0 write a 2",
                   "0 write b 3"}));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(InterposedStrings, Stdio) {
  FILE* const file = tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(recorded.run([&] {
    fwrite(a, 1, 5, file);
    fputs(b, file);
    rewind(file);
    EXPECT_EQ(fread(b, 2, 2, file), 2u);
    EXPECT_EQ(fgets(a, 10, file), a);
  }),
            (Lines{"0 read a 5", "0 read b 4", "0 write b 4", "0 write a 5"}));
  EXPECT_STREQ(a, "oone");
  fclose(file);
}

TEST_F(InterposedStrings, Sockets) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  EXPECT_EQ(recorded.run([&] {
    send(ends[0], a, 5, 0);
    EXPECT_EQ(recv(ends[1], b, 64, 0), 5);
    iovec piece{a, 4};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    sendmsg(ends[0], &message, 0);
    piece.iov_base = b;
    piece.iov_len = 64;
    EXPECT_EQ(recvmsg(ends[1], &message, 0), 4);
  }),
            (Lines{"0 read a 5", "0 write b 5", "0 read a 4", "0 write b 4"}));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace syndrome
