// Host and port are replaced together.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static struct {
    pthread_mutex_t mu;
    int host_id;
    int port;
    unsigned epoch;
} cfg = {PTHREAD_MUTEX_INITIALIZER, 1, 8001, 0};

static void config_reload(int host)
{
    pthread_mutex_lock(&cfg.mu);
    cfg.host_id = host;
    cfg.port = 8000 + host;
    pthread_mutex_unlock(&cfg.mu);
}

static int connect_upstream(void)
{
    int host, port;
    pthread_mutex_lock(&cfg.mu);
    host = cfg.host_id;
    port = cfg.port;
    pthread_mutex_unlock(&cfg.mu);
    return port == 8000 + host ? 0 : -1;
}

static void *reloader(void *arg)
{
    (void)arg;
    for (int i = 0; i < 30000; i++)
        config_reload(1 + i % 5);
    return NULL;
}

static void *requests(void *arg)
{
    int *refused = arg;
    for (int i = 0; i < 30000; i++)
        *refused += connect_upstream() != 0;
    return NULL;
}

int main(void)
{
    pthread_t r, q[2];
    int refused[2] = {0, 0};
    pthread_create(&r, NULL, reloader, NULL);
    pthread_create(&q[0], NULL, requests, &refused[0]);
    pthread_create(&q[1], NULL, requests, &refused[1]);
    pthread_join(r, NULL);
    pthread_join(q[0], NULL);
    pthread_join(q[1], NULL);
    int n = refused[0] + refused[1];
    printf("connections to a mixed address %d: %s\n", n, n ? "WRONG" : "ok");
    assert(n == 0);
    return 0;
}
