# redis: a main loop that hands sockets to io threads, three background threads (close, fsync, free), forks that save
# while it goes on. Its clients have threads, too. C.
source=redis
needs=""

build() {
  make -C src -j2 MALLOC=libc CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" OPTIMIZATION=-O2 \
    redis-server redis-cli redis-benchmark
}

run() {
  "$BUILD/src/redis-server" --port 0 --unixsocket "$PWD/socket" --io-threads 3 --io-threads-do-reads yes --save "" \
    --appendonly yes --appendfsync everysec --lazyfree-lazy-user-del yes --lazyfree-lazy-expire yes \
    --logfile "$PWD/log" &
  ask() { "$BUILD/src/redis-cli" -s socket "$@"; }
  for _ in $(seq 100); do
    [ "$(ask ping 2>/dev/null)" != PONG ] || break
    sleep 0.1
  done
  # Two threads of clients; what they print are rates.
  "$BUILD/src/redis-benchmark" -s socket --threads 2 -c 24 -n 1000 -d 200 -q \
    -t set,get,incr,lpush,rpop,sadd,hset,zadd,mset > rates
  # A list and a set large enough to be freed by the background thread.
  ask eval 'for i = 1, 5000 do redis.call("rpush", "long", i); redis.call("sadd", "many", i * 7) end' 0
  ask bgsave
  ask set after bgsave
  ask del long many
  until ask info persistence | grep -q 'rdb_bgsave_in_progress:0'; do sleep 0.1; done
  ask bgrewriteaof
  until ask info persistence | grep -q 'aof_rewrite_in_progress:0'; do sleep 0.1; done
  ask get counter:__rand_int__
  ask llen mylist
  ask hgetall myhash | wc -c
  ask dbsize
  ask flushall async
  ask dbsize
  ask shutdown nosave
  wait
}

# Clients that send many requests at once, so that the server is at work and not they.
work() {
  "$BUILD/src/redis-server" --port 0 --unixsocket "$PWD/socket" --io-threads 2 --io-threads-do-reads yes --save "" \
    --logfile "$PWD/log" &
  for _ in $(seq 100); do
    [ "$("$BUILD/src/redis-cli" -s socket ping 2>/dev/null)" != PONG ] || break
    sleep 0.1
  done
  begin=$(date +%s%N)
  "$BUILD/src/redis-benchmark" -s socket -c 16 -P 32 -n 100000 -d 100 -q -t set,get,incr,lpush,rpop,sadd > rates
  echo $(($(date +%s%N) - begin)) > nanoseconds
  "$BUILD/src/redis-cli" -s socket get counter:__rand_int__
  "$BUILD/src/redis-cli" -s socket shutdown nosave
  wait
}
