# zstd: a pool of threads (POOL_*), jobs whose sections are published under mutexes. C.
source=libzstd
needs=""

build() {
  make -C programs zstd -j2 HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0
}

run() {
  # The whole megabyte: a job is at least half of one.
  "$BUILD/programs/zstd" -q -k -c -T4 -1 -B524288 "$INPUT/text.txt" > text.zst
  cksum < text.zst
  "$BUILD/programs/zstd" -q -d -c text.zst | cksum
}
