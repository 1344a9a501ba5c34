# sqlite: its own stress test of threads that share databases and a page cache; serialized and with WAL. C.
source=sqlite3
needs="tcl"

build() {
  # The one-file form of the library is what its own build makes of the sources.
  ./configure --disable-readline --disable-tcl
  make sqlite3.c
  "$CC" $CFLAGS $LDFLAGS -DSQLITE_THREADSAFE=1 -DSQLITE_ENABLE_UNLOCK_NOTIFY=1 -I. test/threadtest4.c sqlite3.c \
    -o threadtest4 -lpthread -ldl -lm
}

run() {
  "$BUILD/threadtest4" 2 | sort
  "$BUILD/threadtest4" -wal -serialized 2 | sort
}
