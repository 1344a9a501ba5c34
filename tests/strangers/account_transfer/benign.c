// Each account is locked for itself, but money under way is counted in a transit field under the ledger lock around both halves.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 4
#define OPENING 1000

struct account {
    pthread_mutex_t lock;
    long cents;
};

static struct account accounts[ACCOUNTS];
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static long in_transit;

static void move(int acct, long amount)
{
    pthread_mutex_lock(&ledger);
    pthread_mutex_lock(&accounts[acct].lock);
    accounts[acct].cents += amount;
    in_transit -= amount;
    pthread_mutex_unlock(&accounts[acct].lock);
    pthread_mutex_unlock(&ledger);
}

static void transfer(int from, int to, long amount)
{
    move(from, -amount);
    move(to, amount);
}

static long audit(void)
{
    pthread_mutex_lock(&ledger);
    long sum = in_transit;
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_lock(&accounts[i].lock);
        sum += accounts[i].cents;
        pthread_mutex_unlock(&accounts[i].lock);
    }
    pthread_mutex_unlock(&ledger);
    return sum;
}

static void *teller(void *arg)
{
    unsigned seed = (unsigned)(long)arg;
    for (int i = 0; i < 20000; i++) {
        int from = rand_r(&seed) % ACCOUNTS;
        int to = (from + 1 + rand_r(&seed) % (ACCOUNTS - 1)) % ACCOUNTS;
        transfer(from, to, 5);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int odd_audits = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        accounts[i].cents = OPENING;
    }
    for (long i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, teller, (void *)(i + 7));
    for (int i = 0; i < 3000; i++)
        odd_audits += audit() != ACCOUNTS * OPENING;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("odd audits: %d %s\n", odd_audits, odd_audits ? "WRONG" : "ok");
    assert(odd_audits == 0);
    return 0;
}
