# squashfs-tools: reader, compressors, fragment and writer threads joined by bounded queues and caches. C.
source=squashfs-tools
needs="zlib1g-dev"

build() {
  make -C squashfs-tools -j2 CC="$CC" EXTRA_CFLAGS="$CFLAGS" EXTRA_LDFLAGS="$LDFLAGS" \
    XZ_SUPPORT=0 LZO_SUPPORT=0 LZ4_SUPPORT=0 ZSTD_SUPPORT=0 mksquashfs unsquashfs
}

run() {
  mkdir tree
  split -b 9000 "$INPUT/text.txt" tree/part-
  for part in tree/part-a?; do cp "$part" "$part.copy"; done
  "$BUILD/squashfs-tools/mksquashfs" tree image -processors 4 -no-progress -quiet -all-root \
    -mkfs-time 0 -all-time 0 > /dev/null
  cksum < image
  "$BUILD/squashfs-tools/unsquashfs" -p 4 -q -n -d out image > /dev/null
  cat out/* | cksum
}

work() {
  mkdir tree
  split -a 3 -b 9000 "$INPUT/long.txt" tree/part-
  for part in tree/part-aa?; do cp "$part" "$part.copy"; done
  "$BUILD/squashfs-tools/mksquashfs" tree image -processors 4 -no-progress -quiet -all-root \
    -mkfs-time 0 -all-time 0 > /dev/null
  cksum < image
  "$BUILD/squashfs-tools/unsquashfs" -p 4 -q -n -d out image > /dev/null
  cat out/* | cksum
}
