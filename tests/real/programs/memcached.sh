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

# Four clients that send many commands at once, so that the server is at work and not they.
work() {
  cd "$BUILD"
  ./memcached-debug -u root -t 4 -m 64 -s "$OLDPWD/socket" &
  begin=$(date +%s%N)
  python3 - "$OLDPWD/socket" <<'END'
import socket, sys, threading, time

def connect():
    for _ in range(100):
        try:
            link = socket.socket(socket.AF_UNIX)
            link.connect(sys.argv[1])
            return link
        except OSError:
            link.close()
            time.sleep(0.1)
    sys.exit("no server")

def ask(link, text, answer):
    """Waits for all of an answer of which only the length is known."""
    link.sendall(text)
    while answer > 0:
        got = len(link.recv(1 << 16))
        if got == 0: sys.exit("the server hung up")
        answer -= got

COUNTER = b"1000000000"  # as many digits at the end

def client(own, rounds):
    link = connect()
    text, answer = b"", 0
    for i in range(100):
        key = b"own%d-%02d" % (own, i)
        text += b"set %s 0 0 100\r\n%s\r\nget %s\r\nincr shared 1\r\n" % (key, b"x" * 100, key)
        answer += len(b"STORED\r\nVALUE %s 0 100\r\n%s\r\nEND\r\n%s\r\n" % (key, b"x" * 100, COUNTER))
    for _ in range(rounds): ask(link, text, answer)

link = connect()
ask(link, b"set shared 0 0 10\r\n%s\r\n" % COUNTER, len(b"STORED\r\n"))
clients = [threading.Thread(target=client, args=[own, 500]) for own in range(4)]
for each in clients: each.start()
for each in clients: each.join()
link.sendall(b"get shared\r\n")
print(link.recv(1 << 16).decode().split()[-2])
END
  echo $(($(date +%s%N) - begin)) > "$OLDPWD/nanoseconds"
  kill %1
  wait
}
