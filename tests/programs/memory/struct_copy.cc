// verdict: clean
// blocks: Board::post, Board::look
// output: 0 torn
// Structures are assigned, cleared and moved as a whole: memcpy, memset and memmove are accesses
// to all of their bytes, in the order of the lock.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

struct Note {
  long words[24];
};

class Board {
 public:
  void post(long value) {
    Note note;
    for (long& word : note.words) word = value;
    const std::lock_guard guard(mutex_);
    std::memset(&notes_[1], 0, sizeof(Note));
    std::memmove(&notes_[1], &notes_[0], sizeof(Note));
    notes_[0] = note;
  }

  bool look() {
    Note first, second;
    {
      const std::lock_guard guard(mutex_);
      first = notes_[0];
      std::memcpy(&second, &notes_[1], sizeof(Note));
    }
    return whole(first) && whole(second);
  }

 private:
  static bool whole(const Note& note) {
    for (const long word : note.words) {
      if (word != note.words[0]) return false;
    }
    return true;
  }

  std::mutex mutex_;
  Note notes_[2] = {};
};

int main() {
  Board board;
  int torn = 0;
  std::thread writer([&] {
    for (long i = 0; i < 300; ++i) board.post(i);
  });
  std::thread other([&] {
    for (long i = 0; i < 300; ++i) board.post(-i);
  });
  for (int i = 0; i < 300; ++i) torn += board.look() ? 0 : 1;
  writer.join();
  other.join();
  std::printf("%d torn\n", torn);
}
