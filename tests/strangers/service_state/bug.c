// Start-up overwrites a stop request that came in while it was getting ready, so the service keeps running.
// harm: service_start and svc->state (service_stop)
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#define SERVICES 20000

enum state { STOPPED, STARTING, RUNNING, STOPPING };

struct service {
    enum state state;
};

static struct service services[SERVICES];
static pthread_mutex_t svc_mu = PTHREAD_MUTEX_INITIALIZER;

static enum state get_state(struct service *svc)
{
    pthread_mutex_lock(&svc_mu);
    enum state s = svc->state;
    pthread_mutex_unlock(&svc_mu);
    return s;
}

static void set_state(struct service *svc, enum state s)
{
    pthread_mutex_lock(&svc_mu);
    svc->state = s;
    pthread_mutex_unlock(&svc_mu);
}

static void service_start(struct service *svc)
{
    set_state(svc, STARTING);
    for (volatile int modules = 0; modules < 20;)
        modules = modules + 1;
    if (get_state(svc) == STARTING)
        set_state(svc, RUNNING);
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
    return 0;
}
