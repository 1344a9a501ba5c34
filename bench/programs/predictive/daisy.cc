// DaisyTest: two threads create, write and remove files of a small file system, with a lock for
// each inode, one for the directory and one for the map of free blocks.

#include "program.h"

namespace {

using namespace predictive;

constexpr std::size_t kInodes = 8;
constexpr std::size_t kBlocks = 24;
constexpr std::size_t kPerFile = 3;

struct Inode {
  Mutex mutex;
  int used = 0;
  int size = 0;
  int blocks[kPerFile] = {};
};

Inode inodes[kInodes];
Mutex map;
char taken[kBlocks];
Mutex directory;
int names[kInodes];
int files = 0;

int allocate() {
  const Guard guard(map);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    if (taken[i] != 0) continue;
    taken[i] = 1;
    return static_cast<int>(i) + 1;
  }
  return 0;
}

void release(int block) {
  const Guard guard(map);
  taken[block - 1] = 0;
}

std::size_t create(int name) {
  const Guard guard(directory);
  for (std::size_t i = 0; i < kInodes; ++i) {
    if (names[i] != 0) continue;
    names[i] = name;
    ++files;
    return i;
  }
  return kInodes;
}

void write(Inode& inode, int size) {
  const Guard guard(inode.mutex);
  inode.used = 1;
  for (std::size_t i = 0; i < kPerFile && inode.size < size; ++i) {
    if (inode.blocks[i] == 0) inode.blocks[i] = allocate();
    ++inode.size;
  }
}

void remove(std::size_t file) {
  Inode& inode = inodes[file];
  {
    const Guard guard(inode.mutex);
    for (int& block : inode.blocks) {
      if (block != 0) release(block);
      block = 0;
    }
    inode.size = 0;
    inode.used = 0;
  }
  const Guard guard(directory);
  names[file] = 0;
  --files;
}

}  // namespace

int main() {
  in_threads(2, [](std::size_t number) {
    constexpr int kTogether = 4;
    for (int i = 0; i < 4; ++i) {
      std::size_t created[kTogether];
      for (int k = 0; k < kTogether; ++k) {
        created[k] = create(static_cast<int>(number) * 100 + i * kTogether + k + 1);
        if (created[k] != kInodes) write(inodes[created[k]], 1 + k % 3);
      }
      for (const std::size_t file : created) {
        if (file != kInodes) remove(file);
      }
    }
  });
  return files == 0 ? 0 : 1;
}
