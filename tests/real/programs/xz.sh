# xz: a threaded encoder and decoder with blocks, progress under mutexes, and waiting with timeouts. C.
source=xz-utils
needs=""

build() {
  ./configure --disable-shared --disable-nls --disable-doc
  make -j2
}

run() {
  head -c 300000 "$INPUT/text.txt" > text.txt
  "$BUILD/src/xz/xz" -k -c -1 -T4 --block-size=64KiB text.txt > text.xz
  cksum < text.xz
  "$BUILD/src/xz/xz" -d -c -T4 text.xz | cksum
}
