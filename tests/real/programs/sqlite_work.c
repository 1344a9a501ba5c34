// Threads that keep sqlite's library at work: each has a database in memory of its own, and all of them share one
// connection, which the library serializes. Prints what the tables hold at the end: the same in every run.
//
//     sqlite_work THREADS ROWS

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static sqlite3 *shared;
static int rows;

static void run(sqlite3 *db, const char *sql) {
  char *error = NULL;
  if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, error);
    exit(1);
  }
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
    exit(1);
  }
  return statement;
}

static long long number(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = prepare(db, sql);
  const long long got = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
  sqlite3_finalize(statement);
  return got;
}

static void *work(void *argument) {
  long long *const result = argument;
  sqlite3 *own = NULL;
  if (sqlite3_open(":memory:", &own) != SQLITE_OK) exit(1);
  run(own, "CREATE TABLE t(a INTEGER PRIMARY KEY, b INT, c TEXT); CREATE INDEX tb ON t(b); BEGIN");
  sqlite3_stmt *insert = prepare(own, "INSERT INTO t(b, c) VALUES(?1 * 7919 % 10007, printf('%d words', ?1))");
  sqlite3_stmt *count = prepare(shared, "INSERT INTO counts(n) VALUES(?1)");
  for (int i = 0; i < rows; ++i) {
    sqlite3_bind_int(insert, 1, i);
    sqlite3_step(insert);
    sqlite3_reset(insert);
    if (i % 16 != 0) continue;
    sqlite3_bind_int(count, 1, i);
    sqlite3_step(count);
    sqlite3_reset(count);
  }
  sqlite3_finalize(insert);
  sqlite3_finalize(count);
  run(own, "COMMIT; UPDATE t SET c = c || '.' WHERE b % 3 = 0; DELETE FROM t WHERE b % 5 = 0");
  *result = number(own, "SELECT sum(x.b * length(x.c)) FROM t x JOIN t y ON y.b = (x.b + 1) % 10007");
  sqlite3_close(own);
  return NULL;
}

int main(int argc, char **argv) {
  enum { kMost = 64 };
  pthread_t threads[kMost];
  long long results[kMost];
  const int count = argc > 1 ? atoi(argv[1]) : 4;
  rows = argc > 2 ? atoi(argv[2]) : 1000;
  if (count < 1 || count > kMost || sqlite3_open(":memory:", &shared) != SQLITE_OK) return 2;
  run(shared, "CREATE TABLE counts(n INT)");
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, work, &results[i]);
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    printf("thread %d: %lld\n", i, results[i]);
  }
  printf("all: %lld\n", number(shared, "SELECT sum(n) FROM counts"));
  sqlite3_close(shared);
  return 0;
}
