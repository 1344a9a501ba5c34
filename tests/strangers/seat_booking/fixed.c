// The seat is looked up and taken under the same lock.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define SEATS 4000
#define CLERKS 3

static pthread_mutex_t hall_lock = PTHREAD_MUTEX_INITIALIZER;
static int seat_owner[SEATS];
static int tickets_sold[CLERKS + 1];

static int book_seat(int seat, int clerk)
{
    int booked = 0;
    pthread_mutex_lock(&hall_lock);
    if (seat_owner[seat] == 0) {
        seat_owner[seat] = clerk;
        booked = 1;
    }
    pthread_mutex_unlock(&hall_lock);
    return booked;
}

static void *clerk_main(void *arg)
{
    int id = (int)(long)arg;
    for (int s = 0; s < SEATS; s++)
        tickets_sold[id] += book_seat(s, id);
    return NULL;
}

int main(void)
{
    int total = 0;
    for (int day = 0; day < 20; day++) {
        pthread_t t[CLERKS];
        for (int s = 0; s < SEATS; s++)
            seat_owner[s] = 0;
        for (long i = 0; i < CLERKS; i++)
            pthread_create(&t[i], NULL, clerk_main, (void *)(i + 1));
        for (int i = 0; i < CLERKS; i++)
            pthread_join(t[i], NULL);
    }
    for (int i = 1; i <= CLERKS; i++)
        total += tickets_sold[i];
    printf("sold %d tickets for %d seats: %s\n", total, 20 * SEATS, total == 20 * SEATS ? "ok" : "WRONG");
    assert(total == 20 * SEATS);
    return 0;
}
