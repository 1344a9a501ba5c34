// The first load only turns away requests early; the compare-and-swap loop decides.
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
    if (atomic_load_explicit(&b->tokens, memory_order_relaxed) <= 0)
        goto refuse;
    int n = atomic_load(&b->tokens);
    do {
        if (n <= 0)
            goto refuse;
    } while (!atomic_compare_exchange_strong(&b->tokens, &n, n - 1));
    return true;
refuse:
    atomic_fetch_add(&b->refused, 1);
    return false;
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
    assert(all == BURST && atomic_load(&bucket.refused) == BURST);
    return 0;
}
