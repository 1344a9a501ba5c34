# pbzip2: blocks of a file compressed by a pool of threads; queues under mutexes and conditions. C++.
source=pbzip2
needs="libbz2-dev"

build() {
  # Its sources paste PRIuMAX to literals as C++98 allows; clang wants to be told.
  make pbzip2 CXX="$CXX" CXXFLAGS="$CXXFLAGS -Wno-reserved-user-defined-literal" LDFLAGS="$LDFLAGS"
}

run() {
  for level in 1 9; do
    "$BUILD/pbzip2" -q -k -p4 -$level -b1 -c "$INPUT/text.txt" > text.bz2
    cksum < text.bz2
    "$BUILD/pbzip2" -q -d -p4 -c text.bz2 | cksum
  done
}

work() {
  "$BUILD/pbzip2" -q -k -p4 -9 -b5 -c "$INPUT/long.txt" > long.bz2
  cksum < long.bz2
  "$BUILD/pbzip2" -q -d -p4 -c long.bz2 | cksum
}
