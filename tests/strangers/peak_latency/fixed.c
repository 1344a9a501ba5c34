// The maximum is raised by a compare-and-swap loop.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define SAMPLES 400000
#define PROBES 2

static atomic_long peak_us;
static pthread_barrier_t start;
static atomic_long went_back;

static void note_latency(long us)
{
    long cur = atomic_load(&peak_us);
    while (us > cur && !atomic_compare_exchange_weak(&peak_us, &cur, us))
        ;
}

static void *probe(void *arg)
{
    long offset = (long)arg;
    pthread_barrier_wait(&start);
    for (long i = 0; i < SAMPLES; i++) {
        long us = 2 * i + offset;
        note_latency(us);
        if (atomic_load(&peak_us) < us)
            atomic_fetch_add(&went_back, 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[PROBES];
    pthread_barrier_init(&start, NULL, PROBES);
    for (long i = 0; i < PROBES; i++)
        pthread_create(&t[i], NULL, probe, (void *)i);
    for (int i = 0; i < PROBES; i++)
        pthread_join(t[i], NULL);
    long lost = atomic_load(&went_back);
    long top = atomic_load(&peak_us);
    printf("peak %ld us, lost maxima %ld: %s\n", top, lost, lost ? "WRONG" : "ok");
    if (top != 2 * (SAMPLES - 1) + 1)
        puts("the final peak is WRONG too");
    assert(lost == 0 && top == 2 * (SAMPLES - 1) + 1);
    return 0;
}
