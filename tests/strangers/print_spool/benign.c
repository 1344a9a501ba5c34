// The waiting count is only a hint to go to look; the taking call copes with an empty list.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
    int pages;
    struct job *next;
};

struct spool {
    pthread_mutex_t mu;
    struct job *head;
    int count;
};

static struct spool spool = {PTHREAD_MUTEX_INITIALIZER, NULL, 0};

static void spool_add(struct spool *s, int pages)
{
    struct job *j = malloc(sizeof *j);
    j->pages = pages;
    pthread_mutex_lock(&s->mu);
    j->next = s->head;
    s->head = j;
    s->count++;
    pthread_mutex_unlock(&s->mu);
}

static int spool_count(struct spool *s)
{
    pthread_mutex_lock(&s->mu);
    int n = s->count;
    pthread_mutex_unlock(&s->mu);
    return n;
}

static struct job *spool_take(struct spool *s)
{
    pthread_mutex_lock(&s->mu);
    struct job *j = s->head;
    if (j == NULL) {
        pthread_mutex_unlock(&s->mu);
        return NULL;
    }
    s->head = j->next;
    s->count--;
    pthread_mutex_unlock(&s->mu);
    return j;
}

static void *printer_main(void *arg)
{
    long *pages = arg;
    while (spool_count(&spool) > 0) {
        struct job *j = spool_take(&spool);
        if (j == NULL)
            continue;
        *pages += j->pages;
        free(j);
    }
    return NULL;
}

int main(void)
{
    long printed = 0, sent = 0;
    for (int batch = 0; batch < 400; batch++) {
        pthread_t p[2];
        long pages[2] = {0, 0};
        for (int i = 0; i < 200; i++, sent += 2)
            spool_add(&spool, 2);
        pthread_create(&p[0], NULL, printer_main, &pages[0]);
        pthread_create(&p[1], NULL, printer_main, &pages[1]);
        pthread_join(p[0], NULL);
        pthread_join(p[1], NULL);
        printed += pages[0] + pages[1];
    }
    printf("printed %ld of %ld pages\n", printed, sent);
    assert(printed == sent && spool_count(&spool) == 0);
    return 0;
}
