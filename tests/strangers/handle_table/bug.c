// A looked-up slot number may belong to somebody else's file by the time it is written.
// harm: h_write and table[].owner / table[].bytes
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define SLOTS 4
#define WORKERS 3

struct slot {
    int owner;
    unsigned gen;
    long bytes;
};

static pthread_mutex_t tab_mu = PTHREAD_MUTEX_INITIALIZER;
static struct slot table[SLOTS];
static long misdirected;

static void h_open(int owner)
{
    pthread_mutex_lock(&tab_mu);
    for (int i = 0; i < SLOTS; i++) {
        if (table[i].owner == 0) {
            table[i].owner = owner;
            table[i].gen++;
            table[i].bytes = 0;
            break;
        }
    }
    pthread_mutex_unlock(&tab_mu);
}

static int find_slot(int owner)
{
    for (int i = 0; i < SLOTS; i++)
        if (table[i].owner == owner)
            return i;
    return -1;
}

static void h_close(int owner)
{
    pthread_mutex_lock(&tab_mu);
    int s = find_slot(owner);
    if (s >= 0)
        table[s].owner = 0;
    pthread_mutex_unlock(&tab_mu);
}

static void h_write(int owner, int n)
{
    pthread_mutex_lock(&tab_mu);
    int s = find_slot(owner);
    pthread_mutex_unlock(&tab_mu);
    if (s < 0)
        return;
    pthread_mutex_lock(&tab_mu);
    table[s].bytes += n;
    misdirected += table[s].owner != owner;
    pthread_mutex_unlock(&tab_mu);
}

static void *opener(void *arg)
{
    (void)arg;
    for (int i = 0; i < 15000; i++) {
        h_open(1 + i % 3);
        h_close(1 + (i + 1) % 3);
    }
    return NULL;
}

static void *writer(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++)
        h_write(1 + i % 3, 10);
    return NULL;
}

int main(void)
{
    pthread_t t[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&t[i], NULL, i == 0 ? opener : writer, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(t[i], NULL);
    printf("misdirected writes %ld: %s\n", misdirected, misdirected ? "WRONG" : "ok");
    return 0;
}
