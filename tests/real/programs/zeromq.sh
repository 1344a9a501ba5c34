# zeromq: a messaging library; threads of its own joined by lock-free queues and eventfds, a reaper, proxies. C++.
source=zeromq3
needs="cmake"

build() {
  cmake -B b -DCMAKE_BUILD_TYPE=None -DBUILD_STATIC=OFF -DENABLE_CURVE=OFF -DWITH_DOCS=OFF -DWITH_LIBBSD=OFF \
    -DENABLE_PRECOMPILED=OFF
  cmake --build b -j2 --target inproc_lat inproc_thr proxy_thr test_ctx_destroy test_inproc_connect test_pair_inproc \
    test_pair_ipc test_proxy test_reqrep_device test_shutdown_stress test_spec_router test_sub_forward
}

run() {
  # Some of its own tests, of which the places are left out.
  for test in ctx_destroy inproc_connect pair_inproc pair_ipc proxy reqrep_device shutdown_stress spec_router \
    sub_forward; do
    echo "$test"
    "$BUILD/b/bin/test_$test" | sed 's|.*/tests/||' | grep ':\(PASS\|FAIL\|IGNORE\)\|Tests'
  done
  # Its benchmarks: what they print are times.
  "$BUILD/b/bin/inproc_lat" 30 2000 > times
  "$BUILD/b/bin/inproc_thr" 30 50000 >> times
  "$BUILD/b/bin/proxy_thr" 30 20000 >> times
  grep -c 'mean throughput.*msg/s\|average latency' times
}

work() {
  "$BUILD/b/bin/inproc_lat" 30 10000 > times
  "$BUILD/b/bin/inproc_thr" 30 300000 >> times
  "$BUILD/b/bin/proxy_thr" 30 100000 >> times
  grep -c 'mean throughput.*msg/s\|average latency' times
}
