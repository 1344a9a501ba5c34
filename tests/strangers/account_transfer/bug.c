// Money is in neither account between the debit and the credit, and the auditor can look just then.
// harm: transfer and accounts[].cents
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

static void transfer(int from, int to, long amount)
{
    pthread_mutex_lock(&accounts[from].lock);
    accounts[from].cents -= amount;
    pthread_mutex_unlock(&accounts[from].lock);

    pthread_mutex_lock(&accounts[to].lock);
    accounts[to].cents += amount;
    pthread_mutex_unlock(&accounts[to].lock);
}

static long audit(void)
{
    long sum = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_mutex_lock(&accounts[i].lock);
    for (int i = 0; i < ACCOUNTS; i++)
        sum += accounts[i].cents;
    for (int i = ACCOUNTS - 1; i >= 0; i--)
        pthread_mutex_unlock(&accounts[i].lock);
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
    return 0;
}
