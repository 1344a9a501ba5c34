# zstd: a pool of threads (POOL_*), jobs whose sections are published under mutexes. C.
source=libzstd
needs=""

build() {
  make -C programs zstd -j2 HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0
}

run() {
  # A job is at least half a megabyte.
  cat "$INPUT/text.txt" "$INPUT/text.txt" > text.txt
  "$BUILD/programs/zstd" -q -k -c -T4 -1 -B524288 text.txt > text.zst
  cksum < text.zst
  "$BUILD/programs/zstd" -q -d -c text.zst | cksum
}

work() {
  head -c 4M "$INPUT/long.txt" > long.txt
  "$BUILD/programs/zstd" -q -k -c -T4 -9 -B1048576 long.txt > long.zst
  cksum < long.zst
  "$BUILD/programs/zstd" -q -d -c long.zst | cksum
}
