// The count is lowered and then read again, so two threads can both believe they were the last.
// harm: blob_put and blob->refs
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#define BLOBS 400000

struct blob {
    atomic_int refs;
    int size;
};

static struct blob blobs[BLOBS];
static atomic_long destroyed;
static pthread_barrier_t start;

static void blob_destroy(struct blob *b)
{
    /* the arena is given back as a whole later; here only the books are kept */
    if (b->size > 0)
        atomic_fetch_add(&destroyed, 1);
}

static void blob_put(struct blob *b)
{
    atomic_fetch_sub(&b->refs, 1);
    if (atomic_load(&b->refs) == 0)
        blob_destroy(b);
}

static void *reader(void *arg)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < BLOBS; i++)
        blob_put(&blobs[i]);
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < BLOBS; i++) {
        atomic_init(&blobs[i].refs, 2);
        blobs[i].size = 1 + i % 100;
    }
    pthread_create(&t[0], NULL, reader, NULL);
    pthread_create(&t[1], NULL, reader, NULL);
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    long n = atomic_load(&destroyed);
    printf("%d blobs, %ld destroyed: %s\n", BLOBS, n, n == BLOBS ? "ok" : "WRONG");
    return 0;
}
