// The tick looks first without keeping the lock, and claims the timer under the lock only if it is still armed.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

enum { IDLE, ARMED, FIRED, CANCELLED };

static struct {
    pthread_mutex_t mu;
    int state;
    int fired_after_cancel;
    int fired;
} timer = {.mu = PTHREAD_MUTEX_INITIALIZER};

static int finished;

static void timer_arm(void)
{
    pthread_mutex_lock(&timer.mu);
    timer.state = ARMED;
    pthread_mutex_unlock(&timer.mu);
}

static int timer_cancel(void)
{
    int ok = 0;
    pthread_mutex_lock(&timer.mu);
    if (timer.state == ARMED) {
        timer.state = CANCELLED;
        ok = 1;
    }
    pthread_mutex_unlock(&timer.mu);
    return ok;
}

static int timer_tick(void)
{
    pthread_mutex_lock(&timer.mu);
    int due = timer.state == ARMED, stop = finished;
    pthread_mutex_unlock(&timer.mu);
    if (!due)
        return !stop;
    pthread_mutex_lock(&timer.mu);
    if (timer.state == ARMED) {
        timer.state = FIRED;
        timer.fired++;
    }
    pthread_mutex_unlock(&timer.mu);
    return !stop;
}

static void *timer_thread(void *arg)
{
    while (timer_tick())
        ;
    return arg;
}

int main(void)
{
    pthread_t t;
    int cancelled = 0;
    const int rounds = 40000;
    pthread_create(&t, NULL, timer_thread, NULL);
    for (int i = 0; i < rounds; i++) {
        timer_arm();
        cancelled += timer_cancel();
    }
    pthread_mutex_lock(&timer.mu);
    finished = 1;
    pthread_mutex_unlock(&timer.mu);
    pthread_join(t, NULL);
    int bad = timer.fired_after_cancel;
    printf("cancelled %d, fired %d, fired after cancel %d: %s\n", cancelled, timer.fired, bad, bad ? "WRONG" : "ok");
    assert(bad == 0 && cancelled + timer.fired == rounds);
    return 0;
}
