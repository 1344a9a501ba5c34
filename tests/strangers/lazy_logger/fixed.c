// The existence test and the creation are one critical section.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct logger {
    long lines;
    char name[32];
};

static pthread_mutex_t log_mu = PTHREAD_MUTEX_INITIALIZER;
static struct logger *the_logger;

static struct logger *logger_create(const char *name)
{
    struct logger *l = calloc(1, sizeof *l);
    snprintf(l->name, sizeof l->name, "log-%s-%p", name, (void *)l);
    return l;
}

static struct logger *get_logger(void)
{
    pthread_mutex_lock(&log_mu);
    if (the_logger == NULL)
        the_logger = logger_create("app");
    struct logger *l = the_logger;
    pthread_mutex_unlock(&log_mu);
    return l;
}

static void log_line(void)
{
    struct logger *l = get_logger();
    pthread_mutex_lock(&log_mu);
    l->lines++;
    pthread_mutex_unlock(&log_mu);
}

static pthread_barrier_t start;

static void *module(void *arg)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < 10; i++)
        log_line();
    return arg;
}

int main(void)
{
    int short_logs = 0;
    pthread_barrier_init(&start, NULL, 2);
    for (int run = 0; run < 800; run++) {
        pthread_t a, b;
        pthread_create(&a, NULL, module, NULL);
        pthread_create(&b, NULL, module, NULL);
        pthread_join(a, NULL);
        pthread_join(b, NULL);
        short_logs += the_logger->lines != 20;
        free(the_logger);
        the_logger = NULL;
    }
    printf("runs with lost log lines %d: %s\n", short_logs, short_logs ? "WRONG" : "ok");
    assert(short_logs == 0);
    return 0;
}
