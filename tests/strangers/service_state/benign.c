// The state is read outside, but the move to RUNNING is a compare-and-swap that fails if the state was changed.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define SERVICES 20000

enum state { STOPPED, STARTING, RUNNING, STOPPING };

struct service {
    _Atomic int state;
};

static struct service services[SERVICES];

static int get_state(struct service *svc) { return atomic_load(&svc->state); }
static void set_state(struct service *svc, int s) { atomic_store(&svc->state, s); }

static void service_start(struct service *svc)
{
    set_state(svc, STARTING);
    for (volatile int modules = 0; modules < 20;)
        modules = modules + 1;
    int seen = get_state(svc);
    while (seen == STARTING && !atomic_compare_exchange_weak(&svc->state, &seen, RUNNING))
        ;
}

static void service_stop(struct service *svc)
{
    while (get_state(svc) == STOPPED)
        sched_yield();
    set_state(svc, STOPPING);
}

static void *boot(void *arg)
{
    for (int i = 0; i < SERVICES; i++)
        service_start(&services[i]);
    return arg;
}

static void *shutdown_all(void *arg)
{
    for (int i = 0; i < SERVICES; i++)
        service_stop(&services[i]);
    return arg;
}

int main(void)
{
    pthread_t b, s;
    int still_up = 0;
    pthread_create(&b, NULL, boot, NULL);
    pthread_create(&s, NULL, shutdown_all, NULL);
    pthread_join(b, NULL);
    pthread_join(s, NULL);
    for (int i = 0; i < SERVICES; i++)
        still_up += get_state(&services[i]) != STOPPING;
    printf("services that ignored the stop %d: %s\n", still_up, still_up ? "WRONG" : "ok");
    assert(still_up == 0);
    return 0;
}
