// The slot is filled and the head advanced in one critical section.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define SIZE 64
#define EVENTS 20000

struct ring {
    pthread_mutex_t mu;
    unsigned head, tail, committed;
    int slot[SIZE];
};

static struct ring ring = {.mu = PTHREAD_MUTEX_INITIALIZER};

static int trace_put(struct ring *r, int value)
{
    pthread_mutex_lock(&r->mu);
    if (r->head - r->tail == SIZE) {
        pthread_mutex_unlock(&r->mu);
        return 0;
    }
    r->slot[r->head % SIZE] = value * 2 + 1;
    r->head++;
    r->committed = r->head;
    pthread_mutex_unlock(&r->mu);
    return 1;
}

static int trace_get(struct ring *r, int *value)
{
    int got = 0;
    pthread_mutex_lock(&r->mu);
    if (r->tail != r->head) {
        *value = r->slot[r->tail % SIZE];
        r->slot[r->tail % SIZE] = 0;
        r->tail++;
        got = 1;
    }
    pthread_mutex_unlock(&r->mu);
    return got;
}

static void *tracer(void *arg)
{
    (void)arg;
    for (int i = 1; i <= EVENTS; i++)
        while (!trace_put(&ring, i))
            ;
    return NULL;
}

int main(void)
{
    pthread_t t;
    int holes = 0, v;
    pthread_create(&t, NULL, tracer, NULL);
    for (int taken = 0; taken < EVENTS;) {
        if (!trace_get(&ring, &v))
            continue;
        taken++;
        holes += v != taken * 2 + 1;
    }
    pthread_join(t, NULL);
    printf("holes in the trace %d: %s\n", holes, holes ? "WRONG" : "ok");
    assert(holes == 0);
    return 0;
}
