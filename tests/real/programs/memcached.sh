# memcached: worker threads around libevent, item locks, an LRU maintainer, a crawler and a logger thread. C.
source=memcached
needs="libevent-dev perl python3"

build() {
  ./configure --disable-docs
  make -j2 memcached-debug sizes testapp timedrun
}

run() {
  # Some of its own tests; each starts servers and stops them.
  cd "$BUILD"
  for test in cas incrdecr expirations noreply stats-detail touch; do
    echo "$test"
    perl -It/lib "t/$test.t" 2>/dev/null | grep '^\(not \)\?ok\|^1\.\.'
  done
  # Eight clients at once, on keys that they share and keys of their own.
  ./memcached-debug -u root -t 4 -m 8 -s "$OLDPWD/socket" &
  python3 - "$OLDPWD/socket" <<'END'
import socket, sys, threading, time

def connect():
    for _ in range(100):
        try:
            link = socket.socket(socket.AF_UNIX)
            link.connect(sys.argv[1])
            return link.makefile("rwb")
        except OSError:
            time.sleep(0.1)
    sys.exit("no server")

def ask(link, text):
    link.write(text.encode() + b"\r\n")
    link.flush()
    return link.readline().decode().strip()

def client(own):
    link = connect()
    for i in range(300):
        ask(link, f"set own{own} 0 0 100\r\n" + "x" * 100)
        ask(link, f"set big{own}-{i % 30} 0 0 20000\r\n" + "y" * 20000)
        ask(link, "incr shared 1")
        if ask(link, f"get own{own}").startswith("VALUE"):
            link.readline(), link.readline()

link = connect()
ask(link, "set shared 0 0 1\r\n0")
clients = [threading.Thread(target=client, args=[own]) for own in range(8)]
for each in clients: each.start()
for each in clients: each.join()
ask(link, "get shared")
print(link.readline().decode().strip())
END
  kill %1
  wait
}
