# xz: a threaded encoder and decoder with blocks, progress under mutexes, and waiting with timeouts. C.
source=xz-utils
needs=""

build() {
  ./configure --disable-shared --disable-nls --disable-doc
  make -j2
}

run() {
  "$BUILD/src/xz/xz" -k -c -1 -T4 --block-size=64KiB "$INPUT/text.txt" > text.xz
  cksum < text.xz
  "$BUILD/src/xz/xz" -d -c -T4 text.xz | cksum
}

work() {
  head -c 4M "$INPUT/long.txt" > long.txt
  "$BUILD/src/xz/xz" -c -1 -T4 --block-size=1MiB < long.txt > long.xz
  cksum < long.xz
  "$BUILD/src/xz/xz" -d -c -T4 long.xz | cksum
}
