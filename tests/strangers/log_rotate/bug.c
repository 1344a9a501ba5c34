// Two writers can both see the log full and both rotate it, leaving an almost empty log file behind.
// harm: log_append and logf_size (log_rotate)
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define LIMIT 100
#define WRITERS 3

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int logf_size;
static int rotations;
static int too_early;

static void log_rotate(void)
{
    pthread_mutex_lock(&log_lock);
    if (logf_size < LIMIT)
        too_early++;
    logf_size = 0;
    rotations++;
    pthread_mutex_unlock(&log_lock);
}

static int log_is_full(void)
{
    pthread_mutex_lock(&log_lock);
    int full = logf_size >= LIMIT;
    pthread_mutex_unlock(&log_lock);
    return full;
}

static void log_append(const char *msg)
{
    if (log_is_full())
        log_rotate();
    pthread_mutex_lock(&log_lock);
    for (const char *p = msg; *p; p++)
        logf_size++;
    pthread_mutex_unlock(&log_lock);
}

static void *writer(void *arg)
{
    (void)arg;
    for (int i = 0; i < 30000; i++)
        log_append(i % 2 ? "GET /index.html" : "POST /login");
    return NULL;
}

int main(void)
{
    pthread_t t[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&t[i], NULL, writer, NULL);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(t[i], NULL);
    printf("%d rotations, %d of a log that was not full: %s\n", rotations, too_early, too_early ? "WRONG" : "ok");
    return 0;
}
