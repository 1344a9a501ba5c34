// The cash drawer and the running total must agree, but they are updated one after the other.
// harm: take_payment (or close_of_day) and till.drawer, till.total
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    pthread_mutex_t m;
    long drawer;
    long total;
    long customers;
} till_t;

static till_t till = {.m = PTHREAD_MUTEX_INITIALIZER};

static void take_payment(till_t *t, int price)
{
    pthread_mutex_lock(&t->m);
    t->drawer += price;
    pthread_mutex_unlock(&t->m);

    pthread_mutex_lock(&t->m);
    t->total += price;
    t->customers++;
    pthread_mutex_unlock(&t->m);
}

static bool books_agree(till_t *t)
{
    pthread_mutex_lock(&t->m);
    bool same = t->drawer == t->total;
    pthread_mutex_unlock(&t->m);
    return same;
}

static void *cashier(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++)
        take_payment(&till, 1 + i % 9);
    return NULL;
}

static void *close_of_day(void *arg)
{
    long *complaints = arg;
    for (int i = 0; i < 20000; i++)
        if (!books_agree(&till))
            ++*complaints;
    return NULL;
}

int main(void)
{
    pthread_t c[2], boss;
    long complaints = 0;
    pthread_create(&c[0], NULL, cashier, NULL);
    pthread_create(&c[1], NULL, cashier, NULL);
    pthread_create(&boss, NULL, close_of_day, &complaints);
    pthread_join(c[0], NULL);
    pthread_join(c[1], NULL);
    pthread_join(boss, NULL);
    printf("complaints %ld, customers %ld: %s\n", complaints, till.customers, complaints ? "WRONG" : "ok");
    return 0;
}
