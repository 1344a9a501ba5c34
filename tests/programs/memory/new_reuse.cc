// verdict: clean
// blocks: Parser::parse_twice
// output: done
// Objects of different types follow each other at one address (new, new[], aligned new).
#include <malloc.h>

#include <cstdio>
#include <new>
#include <thread>

#include "turns.h"

struct Tree {
  int left = 1, right = 2;
  char rest[150000];
};
struct alignas(64) Table {
  double first = 1, second = 2;
  char rest[150000];
};

static Turn to_other = turn_make(), to_parser = turn_make();

class Parser {
 public:
  void parse_twice() {
    grow();
    turn_give(&to_other);
    turn_take(&to_parser);
    grow();
  }

 private:
  static void grow() {
    auto* tree = new Tree;
    tree->left += tree->right;
    delete tree;
  }
};

int main() {
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
  std::thread other([] {
    turn_take(&to_other);
    auto* table = new Table;
    table->first += table->second;
    delete table;
    auto* array = new int[40000];
    array[0] = array[1] = 3;
    delete[] array;
    turn_give(&to_parser);
  });
  Parser().parse_twice();
  other.join();
  std::puts("done");
}
