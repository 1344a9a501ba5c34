// Two requests can load the same token count and both store it minus one, so more pass than the bucket holds.
// harm: bucket_allow and bucket.tokens
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define BURST 30000
#define SENDERS 2

struct bucket {
    atomic_int tokens;
    atomic_int refused;
};

static struct bucket bucket;
static pthread_barrier_t start;

static bool bucket_allow(struct bucket *b)
{
    int n = atomic_load(&b->tokens);
    if (n <= 0) {
        atomic_fetch_add(&b->refused, 1);
        return false;
    }
    atomic_store(&b->tokens, n - 1);
    return true;
}

static void *sender(void *arg)
{
    long *passed = arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < BURST; i++)
        if (bucket_allow(&bucket))
            ++*passed;
    return NULL;
}

int main(void)
{
    pthread_t t[SENDERS];
    long passed[SENDERS] = {0};
    long all = 0;
    atomic_store(&bucket.tokens, BURST);
    pthread_barrier_init(&start, NULL, SENDERS);
    for (int i = 0; i < SENDERS; i++)
        pthread_create(&t[i], NULL, sender, &passed[i]);
    for (int i = 0; i < SENDERS; i++) {
        pthread_join(t[i], NULL);
        all += passed[i];
    }
    printf("%ld requests passed, bucket held %d: %s\n", all, BURST, all == BURST ? "ok" : "WRONG");
    return 0;
}
