// The idle count is tested and lowered under one lock.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define CAPACITY 2
#define CLIENTS 3

struct pool {
    pthread_mutex_t mu;
    pthread_cond_t returned;
    int idle;
    int lowest;
};

static struct pool pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, CAPACITY, CAPACITY};


static int pool_acquire(struct pool *p)
{
    pthread_mutex_lock(&p->mu);
    if (p->idle == 0) {
        pthread_mutex_unlock(&p->mu);
        return 0;
    }
    p->idle--;
    if (p->idle < p->lowest)
        p->lowest = p->idle;
    pthread_mutex_unlock(&p->mu);
    return 1;
}

static void pool_release(struct pool *p)
{
    pthread_mutex_lock(&p->mu);
    p->idle++;
    pthread_cond_signal(&p->returned);
    pthread_mutex_unlock(&p->mu);
}

static void *client(void *arg)
{
    volatile unsigned query = 1;
    for (int i = 0; i < 20000; i++) {
        if (!pool_acquire(arg))
            continue;
        for (int k = 0; k < 30; k++)
            query = query * 31 + 7;
        pool_release(arg);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        pthread_create(&t[i], NULL, client, &pool);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(t[i], NULL);
    printf("lowest idle count %d: %s\n", pool.lowest, pool.lowest < 0 ? "WRONG" : "ok");
    assert(pool.lowest >= 0 && pool.idle == CAPACITY);
    return 0;
}
