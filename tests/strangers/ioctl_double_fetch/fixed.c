// The length is fetched once and that same value is checked and used.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MAXLEN 16
#define ROUNDS 400000

static atomic_int req_len = 8;
static atomic_int finished;
static pthread_barrier_t start;
static char user_buf[64] = "0123456789abcdef0123456789abcdef0123456789abcdef";
static int overruns;

struct kernel_msg {
    char data[MAXLEN];
    char guard[64];
};

static unsigned checksum(const char *p, int n)
{
    unsigned h = 5381;
    while (n-- > 0)
        h = h * 33 + (unsigned char)*p++;
    return h;
}

static int handle_request(struct kernel_msg *m)
{
    int n = atomic_load(&req_len);
    if (n > MAXLEN)
        return -1;
    unsigned h = checksum(user_buf, 48);
    if (n > MAXLEN)
        overruns++;
    memcpy((char *)m, user_buf, (size_t)n);
    return (int)(h & 0xff);
}

static void *hostile_client(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&start);
    for (int i = 0; !atomic_load(&finished); i++)
        atomic_store(&req_len, i % 2 ? 8 : 48);
    return NULL;
}

int main(void)
{
    pthread_t cl;
    struct kernel_msg m;
    unsigned seen = 0;
    memset(&m, 0, sizeof m);
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&cl, NULL, hostile_client, NULL);
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++)
        seen += handle_request(&m) >= 0;
    atomic_store(&finished, 1);
    pthread_join(cl, NULL);
    printf("accepted %u, overruns %d: %s\n", seen, overruns, overruns ? "WRONG" : "ok");
    assert(overruns == 0);
    return 0;
}
