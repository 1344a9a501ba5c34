// The counter is read, then stored only if its version has not moved meanwhile; otherwise it tries again.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define VISITORS 3
#define VISITS 20000

struct page {
    pthread_mutex_t mu;
    long hits;
    unsigned long version;
};

static struct page page = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

static long page_get_hits(struct page *p)
{
    pthread_mutex_lock(&p->mu);
    long h = p->hits;
    pthread_mutex_unlock(&p->mu);
    return h;
}

static void record_hit(struct page *p)
{
    for (;;) {
        pthread_mutex_lock(&p->mu);
        long h = p->hits;
        unsigned long seen = p->version;
        pthread_mutex_unlock(&p->mu);

        long next = h + 1;

        pthread_mutex_lock(&p->mu);
        if (p->version == seen) {
            p->hits = next;
            p->version++;
            pthread_mutex_unlock(&p->mu);
            return;
        }
        pthread_mutex_unlock(&p->mu);
    }
}

static void *visitor(void *arg)
{
    struct page *p = arg;
    for (int i = 0; i < VISITS; i++)
        record_hit(p);
    return NULL;
}

int main(void)
{
    pthread_t t[VISITORS];
    for (int i = 0; i < VISITORS; i++)
        pthread_create(&t[i], NULL, visitor, &page);
    for (int i = 0; i < VISITORS; i++)
        pthread_join(t[i], NULL);
    long got = page_get_hits(&page), want = (long)VISITORS * VISITS;
    printf("hits %ld of %ld: %s\n", got, want, got == want ? "ok" : "WRONG");
    assert(got == want);
    return 0;
}
