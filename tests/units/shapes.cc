// Small classes with and without a mistake in their locking; the first argument chooses one. A
// worker stops between two of its steps, and the main thread comes in between: pipes force that, so
// that nothing in the trace orders the two. Nothing here races.

#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "turns.h"

namespace {

Turn worker_stops = turn_make();
Turn worker_goes_on = turn_make();

/// Between two steps of the worker.
void interrupted() {
  turn_give(&worker_stops);
  turn_take(&worker_goes_on);
}

long result;  // so that nothing is optimized away

struct Shape {
  const char* name;
  void (*work)();   // calls interrupted() once
  void (*other)();  // meanwhile
};

// ---- What is found

/// A function on a struct that it reads and writes through helpers.
struct Stock {
  int left;
  std::mutex mutex;
};
Stock stock{100, {}};
int left_of(Stock* of) {
  std::lock_guard lock(of->mutex);
  return of->left;
}
void set_left(Stock* of, int left) {
  std::lock_guard lock(of->mutex);
  of->left = left;
}
void sell(Stock* of) {
  const int left = left_of(of);
  interrupted();
  set_left(of, left - 1);
}

/// Two critical sections in what the thread begins with.
std::mutex visits_mutex;
int visits;
void visit() {
  visits_mutex.lock();
  const int before = visits;
  visits_mutex.unlock();
  interrupted();
  visits_mutex.lock();
  visits = before + 1;
  visits_mutex.unlock();
}
void visit_at_once() {
  std::lock_guard lock(visits_mutex);
  ++visits;
}

/// An atomic that is loaded, and stored with what was made of it.
std::atomic<int> tickets{100};
void take_ticket() {
  const int now = tickets.load();
  interrupted();
  tickets.store(now - 1);
}
void return_ticket() {
  ++tickets;
}

/// What a Pair has in several places, moved from the one to the other.
struct Pair {
  int first = 100;
  int second = 0;
};

/// Accessors that a base class has.
class Wallet {
 public:
  int cash() {
    std::lock_guard lock(mutex_);
    return cash_;
  }
  int bank() {
    std::lock_guard lock(mutex_);
    return bank_;
  }

 protected:
  std::mutex mutex_;
  int cash_ = 100;
  int bank_ = 0;
};
class Customer : public Wallet {
 public:
  long worth() {
    const int cash = this->cash();
    interrupted();
    return cash + bank();
  }
  void pay_in(int sum) {
    std::lock_guard lock(mutex_);
    cash_ -= sum;
    bank_ += sum;
  }
};
Customer& customer() {
  static auto* const made = new Customer();
  return *made;
}

/// The same behind virtual functions, in a class with two bases.
struct Named {
  virtual ~Named() = default;
  long id = 7;
};
struct Meter {
  virtual ~Meter() = default;
  virtual int left() = 0;
  virtual int right() = 0;
};
class Scale : public Named, public Meter {
 public:
  int left() override {
    std::lock_guard lock(mutex_);
    return left_;
  }
  int right() override {
    std::lock_guard lock(mutex_);
    return right_;
  }
  void shift(int by) {
    std::lock_guard lock(mutex_);
    left_ -= by;
    right_ += by;
  }

 private:
  std::mutex mutex_;
  int left_ = 50;
  int right_ = 50;
};
Scale& scale() {
  static auto* const made = new Scale();
  return *made;
}
bool is_even(Meter& meter) {
  const int left = meter.left();
  interrupted();
  return left == meter.right();
}

/// A struct inside of an object, a union, an array, static members.
class Till {
 public:
  long total() {
    const int first = get(&Pair::first);
    interrupted();
    return first + get(&Pair::second);
  }
  void move(int by) {
    std::lock_guard lock(mutex_);
    inner_.pair.first -= by;
    inner_.pair.second += by;
  }

 private:
  int get(int Pair::* member) {
    std::lock_guard lock(mutex_);
    return inner_.pair.*member;
  }
  std::mutex mutex_;
  struct {
    long before = 0;
    Pair pair{};
  } inner_{};
};
Till& till() {
  static auto* const made = new Till();
  return *made;
}

union Word {
  struct {
    int low;
    int high;
  } half;
  long whole;
};
struct Shared {
  std::mutex mutex;
  Word word{{100, 0}};
  int low() {
    std::lock_guard lock(mutex);
    return word.half.low;
  }
  int high() {
    std::lock_guard lock(mutex);
    return word.half.high;
  }
  long both() {
    const int low = this->low();
    interrupted();
    return low + high();
  }
  void carry() {
    std::lock_guard lock(mutex);
    --word.half.low;
    ++word.half.high;
  }
};
Shared shared_word;

struct Board {
  std::mutex mutex;
  int fields[2] = {100, 0};
  int at(int index) {
    std::lock_guard lock(mutex);
    return fields[index];
  }
  long sum() {
    const int first = at(0);
    interrupted();
    return first + at(1);
  }
  void move() {
    std::lock_guard lock(mutex);
    --fields[0];
    ++fields[1];
  }
};
Board board;

class Site {
 public:
  static long all() {
    const int in = get(inside_);
    interrupted();
    return in + get(outside_);
  }
  static void leave() {
    std::lock_guard lock(mutex_);
    --inside_;
    ++outside_;
  }

 private:
  static int get(const int& which) {
    std::lock_guard lock(mutex_);
    return which;
  }
  static std::mutex mutex_;
  static int inside_;
  static int outside_;
};
std::mutex Site::mutex_;
int Site::inside_ = 10;
int Site::outside_ = 0;

/// Elements of containers, and what a pointer owns.
class Ledger {
 public:
  long balance() {
    const int first = entry(0);
    interrupted();
    return first + entry(1);
  }
  void transfer() {
    std::lock_guard lock(mutex_);
    --entries_[0];
    ++entries_[1];
  }

 private:
  int entry(std::size_t index) {
    std::lock_guard lock(mutex_);
    return entries_[index];
  }
  std::mutex mutex_;
  std::vector<int> entries_ = {100, 0};
};
Ledger& ledger() {
  static auto* const made = new Ledger();
  return *made;
}

class Phonebook {
 public:
  bool has(int key) {
    std::lock_guard lock(mutex_);
    return numbers_.count(key) != 0;
  }
  void put(int key, int number) {
    std::lock_guard lock(mutex_);
    numbers_[key] = number;
  }
  void put_once(int key, int number) {
    if (has(key)) return;
    interrupted();
    put(key, number);
  }

 private:
  std::mutex mutex_;
  std::map<int, int> numbers_;
};
Phonebook& phonebook() {
  static auto* const made = new Phonebook();
  return *made;
}

/// Looking up a key inserts it, once.
class Votes {
 public:
  int of(int key) {
    std::lock_guard lock(mutex_);
    return votes_[key];
  }
  void set(int key, int votes) {
    std::lock_guard lock(mutex_);
    votes_[key] = votes;
  }
  void count_two() {
    for (int i = 0; i < 2; ++i) {
      const int now = of(1);
      if (i == 1) interrupted();
      set(1, now + 1);
    }
  }

 private:
  std::mutex mutex_;
  std::map<int, int> votes_;
};
Votes& votes() {
  static auto* const made = new Votes();
  return *made;
}

class Car {
 public:
  long distance() {
    const int out = driven(&Pair::first);
    interrupted();
    return out + driven(&Pair::second);
  }
  void drive() {
    std::lock_guard lock(mutex_);
    --engine_->first;
    ++engine_->second;
  }

 private:
  int driven(int Pair::* member) {
    std::lock_guard lock(mutex_);
    return (*engine_).*member;
  }
  std::mutex mutex_;
  std::unique_ptr<Pair> engine_ = std::make_unique<Pair>();
};
Car& car() {
  static auto* const made = new Car();
  return *made;
}

/// A pair that is written in two critical sections, and read in one.
class Position {
 public:
  void move_to(int at) {
    set_x(at);
    interrupted();
    set_y(at);
  }
  int distance() {
    std::lock_guard lock(mutex_);
    return x_ - y_;
  }

 private:
  void set_x(int x) {
    std::lock_guard lock(mutex_);
    x_ = x;
  }
  void set_y(int y) {
    std::lock_guard lock(mutex_);
    y_ = y;
  }
  std::mutex mutex_;
  int x_ = 0;
  int y_ = 0;
};
Position place;

/// A lock that one side holds over all of it, and the other does not take.
std::mutex day_mutex;
std::mutex money_mutex;
int money = 100;
int day_before;
int read_money() {
  std::lock_guard lock(money_mutex);
  return money;
}
void end_of_day() {
  std::lock_guard day(day_mutex);
  day_before = read_money();
  interrupted();
  result += read_money();
}
void earn() {
  std::lock_guard lock(money_mutex);
  ++money;
}

// ---- What is right

/// The check is made again with the act.
class Cache {
 public:
  void fill(int value, bool stop) {
    {
      std::lock_guard lock(mutex_);
      if (full_) return;
    }
    if (stop) interrupted();
    std::lock_guard lock(mutex_);
    if (full_) return;
    value_ = value;
    full_ = true;
  }

 private:
  std::mutex mutex_;
  bool full_ = false;
  int value_ = 0;
};
Cache cache;

std::atomic<int> highest{0};
void raise(int value, bool stop) {
  int seen = highest.load();
  if (stop) interrupted();
  while (seen < value && !highest.compare_exchange_weak(seen, value)) {
  }
}

/// How many are inside.
class Gauge {
 public:
  void pass(bool stop) {
    enter();
    if (stop) interrupted();
    leave();
  }

 private:
  void enter() {
    std::lock_guard lock(mutex_);
    ++inside_;
  }
  void leave() {
    std::lock_guard lock(mutex_);
    --inside_;
  }
  std::mutex mutex_;
  int inside_ = 0;
};
Gauge gauge;

/// Rounds of a loop, each of them whole.
std::mutex rounds_mutex;
int rounds_done;
void round_done() {
  std::lock_guard lock(rounds_mutex);
  rounds_done = rounds_done + 1;
}
void do_rounds() {
  for (int i = 0; i < 4; ++i) {
    round_done();
    if (i == 1) interrupted();
  }
}

/// A worker that takes a job and puts it back.
class Pool {
 public:
  Pool() { jobs_ = {1, 2, 3}; }
  void work(bool stop) {
    int job = 0;
    {
      std::lock_guard lock(mutex_);
      job = jobs_.front();
      jobs_.pop_front();
    }
    if (stop) interrupted();
    std::lock_guard lock(mutex_);
    jobs_.push_back(job);
  }

 private:
  std::mutex mutex_;
  std::deque<int> jobs_;
};
Pool& pool() {
  static auto* const made = new Pool();
  return *made;
}

/// Statistics that are printed one after the other.
class Statistics {
 public:
  void print() {
    std::printf("%d requests\n", get(&Pair::first));
    interrupted();
    std::printf("%d errors\n", get(&Pair::second));
  }
  void request() {
    std::lock_guard lock(mutex_);
    ++counts_.first;
    ++counts_.second;
  }

 private:
  int get(int Pair::* which) {
    std::lock_guard lock(mutex_);
    return counts_.*which;
  }
  std::mutex mutex_;
  Pair counts_;
};
Statistics statistics;

const Shape kShapes[] = {
    {"helpers", [] { sell(&stock); }, [] { set_left(&stock, 50); }},
    {"sections", visit, visit_at_once},
    {"atomic", take_ticket, return_ticket},
    {"base", [] { result += customer().worth(); }, [] { customer().pay_in(10); }},
    {"virtual", [] { result += is_even(scale()) ? 1 : 0; }, [] { scale().shift(10); }},
    {"member", [] { result += till().total(); }, [] { till().move(10); }},
    {"union", [] { result += shared_word.both(); }, [] { shared_word.carry(); }},
    {"array", [] { result += board.sum(); }, [] { board.move(); }},
    {"static", [] { result += Site::all(); }, Site::leave},
    {"vector", [] { result += ledger().balance(); }, [] { ledger().transfer(); }},
    {"map", [] { phonebook().put_once(1, 10); }, [] { phonebook().put(1, 20); }},
    {"rounds-of-map", [] { votes().count_two(); }, [] { votes().set(1, 20); }},
    {"owned", [] { result += car().distance(); }, [] { car().drive(); }},
    {"torn", [] { place.move_to(3); }, [] { result += place.distance(); }},
    {"lock", end_of_day, earn},
    {"recheck", [] { cache.fill(1, true); }, [] { cache.fill(2, false); }},
    {"cas", [] { raise(5, true); }, [] { raise(3, false); }},
    {"gauge", [] { gauge.pass(true); }, [] { gauge.pass(false); }},
    {"rounds", do_rounds, round_done},
    {"requeue", [] { pool().work(true); }, [] { pool().work(false); }},
    {"print", [] { statistics.print(); }, [] { statistics.request(); }},
};

}  // namespace

int main(int count, char** arguments) {
  for (const Shape& shape : kShapes) {
    if (count < 2 || std::strcmp(shape.name, arguments[1]) != 0) continue;
    std::thread worker(shape.work);
    turn_take(&worker_stops);
    shape.other();
    turn_give(&worker_goes_on);
    worker.join();
    return result == -1 ? 1 : 0;
  }
  return 2;
}
