# leveldb: a writer queue, a background compaction thread, a lock-free skip list, reference counts. C++.
source=leveldb
needs="cmake libgtest-dev libgmock-dev libbenchmark-dev"

build() {
  cmake -B b -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=OFF
  cmake --build b -j2 --target db_bench skiplist_test cache_test env_test autocompact_test
}

run() {
  export TEST_TMPDIR=$PWD
  # ReadWrite handles 10 MB byte by byte and has no threads.
  for test in cache_test env_test; do
    "$BUILD/b/$test" --gtest_print_time=0 --gtest_filter=-EnvTest.ReadWrite
  done
  # What it prints are times. Small buffers keep the background thread busy with compactions.
  "$BUILD/b/db_bench" --db="$PWD/db" --num=1000 --threads=3 --write_buffer_size=65536 \
    --benchmarks=fillrandom,readwhilewriting > times
  grep -c micros/op times
}

work() {
  "$BUILD/b/db_bench" --db="$PWD/db" --num=3000 --threads=3 --write_buffer_size=65536 \
    --benchmarks=fillrandom,readwhilewriting > times
  grep -c micros/op times
}
