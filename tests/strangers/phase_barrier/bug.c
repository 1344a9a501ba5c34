// The arrivals are cleared in a later critical section than the one that opened the gate, wiping out early arrivals of the next phase.
// harm: phase_wait and arrived / phase
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
    int passed = phase > mine;
    pthread_mutex_unlock(&mu);
    return passed;
}

static void phase_wait(long mine)
{
    pthread_mutex_lock(&mu);
    arrived++;
    int last = arrived == WORKERS;
    if (last)
        phase = mine + 1;
    pthread_mutex_unlock(&mu);
    if (last) {
        pthread_mutex_lock(&mu);
        arrived = 0;
        pthread_mutex_unlock(&mu);
    }
    for (int tries = 0; !phase_passed(mine); tries++) {
        if (tries > PATIENCE) { /* watchdog: do not stall the whole run */
            pthread_mutex_lock(&mu);
            given_up++;
            phase = mine + 1;
            arrived = 0;
            pthread_mutex_unlock(&mu);
            return;
        }
        sched_yield();
    }
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
    return 0;
}
