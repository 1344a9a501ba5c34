// The next invoice number is read in one locked call and advanced in another, so two invoices can get one number.
// harm: next_invoice_id and last_id
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CLERKS 2
#define PER_CLERK 20000
#define BLOCK 50

static pthread_mutex_t id_mu = PTHREAD_MUTEX_INITIALIZER;
static int last_id;
static int ids[CLERKS][PER_CLERK];

static int load_last(void)
{
    pthread_mutex_lock(&id_mu);
    int v = last_id;
    pthread_mutex_unlock(&id_mu);
    return v;
}

static void save_last(int v)
{
    pthread_mutex_lock(&id_mu);
    last_id = v;
    pthread_mutex_unlock(&id_mu);
}

static int next_invoice_id(void)
{
    int id = load_last() + 1;
    save_last(id);
    return id;
}

static void *clerk(void *arg)
{
    int *mine = arg;
    for (int i = 0; i < PER_CLERK; i++)
        mine[i] = next_invoice_id();
    return NULL;
}

int main(void)
{
    pthread_t t[CLERKS];
    int dup = 0;
    unsigned char *seen = calloc(CLERKS * PER_CLERK + BLOCK * CLERKS + 1, 1);
    for (int i = 0; i < CLERKS; i++)
        pthread_create(&t[i], NULL, clerk, ids[i]);
    for (int i = 0; i < CLERKS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < CLERKS; i++)
        for (int k = 0; k < PER_CLERK; k++)
            dup += seen[ids[i][k]]++ != 0;
    free(seen);
    printf("duplicate invoice numbers %d: %s\n", dup, dup ? "WRONG" : "ok");
    return 0;
}
