# spdlog: loggers that hand messages to a thread through a bounded queue; sinks under mutexes. C++.
source=spdlog
needs="cmake libfmt-dev libbenchmark-dev"

build() {
  cmake -B b -DCMAKE_BUILD_TYPE=None -DSPDLOG_BUILD_EXAMPLE=OFF -DSPDLOG_BUILD_BENCH=ON -DSPDLOG_FMT_EXTERNAL=ON
  cmake --build b -j2 --target async_bench
}

run() {
  # Its own benchmark, which counts the lines that arrived. Times and rates are left out.
  "$BUILD/b/bench/async_bench" 10000 4 256 2 | grep -v 'Elapsed\|/sec\|threads:'
  wc -l < logs/basic_async.log
}

work() {
  "$BUILD/b/bench/async_bench" 60000 4 8192 2 | grep -v 'Elapsed\|/sec\|threads:'
  wc -l < logs/basic_async.log
}
