// The count is never cleared; each phase waits for its own multiple of the number of workers.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#define WORKERS 2
#define PHASES 1500
#define PATIENCE 200

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long arrived;
static long phase;
static long given_up;

static int phase_passed(long mine)
{
    pthread_mutex_lock(&mu);
    int passed = arrived >= (mine + 1) * WORKERS;
    pthread_mutex_unlock(&mu);
    return passed;
}

static void phase_wait(long mine)
{
    pthread_mutex_lock(&mu);
    arrived++;
    if (arrived == (mine + 1) * WORKERS)
        phase = mine + 1;
    pthread_mutex_unlock(&mu);
    while (!phase_passed(mine))
        sched_yield();
}

static void *worker(void *arg)
{
    for (long p = 0; p < PHASES; p++)
        phase_wait(p);
    return arg;
}

int main(void)
{
    pthread_t t[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(t[i], NULL);
    printf("phases %ld, stalled %ld: %s\n", phase, given_up, given_up || phase != PHASES ? "WRONG" : "ok");
    assert(phase == PHASES && given_up == 0);
    return 0;
}
