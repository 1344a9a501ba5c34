// The buffer goes back on the list first and the permit is raised afterwards, so a permit always finds a buffer.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define BUFS 2
#define USERS 3

static pthread_mutex_t permit_mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t list_mu = PTHREAD_MUTEX_INITIALIZER;
static int permits = BUFS;
static int free_top = BUFS;
static int free_list[BUFS] = {0, 1};
static long missing;

static int try_permit(void)
{
    pthread_mutex_lock(&permit_mu);
    int ok = permits > 0;
    if (ok)
        permits--;
    pthread_mutex_unlock(&permit_mu);
    return ok;
}

static int buf_take(void)
{
    int b = -1;
    if (!try_permit())
        return -1;
    pthread_mutex_lock(&list_mu);
    if (free_top > 0)
        b = free_list[--free_top];
    else
        missing++;
    pthread_mutex_unlock(&list_mu);
    return b;
}

static void buf_return(int b)
{
    pthread_mutex_lock(&list_mu);
    free_list[free_top++] = b;
    pthread_mutex_unlock(&list_mu);

    pthread_mutex_lock(&permit_mu);
    permits++;
    pthread_mutex_unlock(&permit_mu);
}

static void *user(void *arg)
{
    for (int i = 0; i < 30000; i++) {
        int b = buf_take();
        if (b >= 0)
            buf_return(b);
    }
    return arg;
}

int main(void)
{
    pthread_t t[USERS];
    for (int i = 0; i < USERS; i++)
        pthread_create(&t[i], NULL, user, NULL);
    for (int i = 0; i < USERS; i++)
        pthread_join(t[i], NULL);
    printf("permits without a buffer %ld: %s\n", missing, missing ? "WRONG" : "ok");
    assert(missing == 0 && permits == BUFS && free_top == BUFS);
    return 0;
}
