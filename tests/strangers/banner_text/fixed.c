// Text and length are copied out together under the lock.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t banner_mu = PTHREAD_MUTEX_INITIALIZER;
static const char *banner_text = "sale";
static size_t banner_len = 4;
static int banner_style;
static pthread_barrier_t start;

static void set_banner(const char *text, int style)
{
    pthread_mutex_lock(&banner_mu);
    banner_text = text;
    banner_len = strlen(text);
    banner_style = style;
    pthread_mutex_unlock(&banner_mu);
}

static const char *get_banner(size_t *len)
{
    pthread_mutex_lock(&banner_mu);
    const char *t = banner_text;
    *len = banner_len;
    pthread_mutex_unlock(&banner_mu);
    return t;
}


static int render(char *screen, size_t cap)
{
    size_t n;
    const char *t = get_banner(&n);
    int style = 0;
    if (n > cap)
        n = cap;
    memset(screen, style ? '*' : ' ', cap);
    strncpy(screen, t, n);
    return strlen(t) == n;
}

static void *editor(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&start);
    for (int i = 0; i < 150000; i++)
        set_banner(i % 2 ? "sale" : "everything must go", i % 3 == 0);
    return NULL;
}

int main(void)
{
    pthread_t ed;
    char screen[64];
    int garbled = 0;
    pthread_barrier_init(&start, NULL, 2);
    pthread_create(&ed, NULL, editor, NULL);
    pthread_barrier_wait(&start);
    for (int i = 0; i < 150000; i++)
        garbled += !render(screen, sizeof screen);
    pthread_join(ed, NULL);
    printf("garbled frames %d: %s\n", garbled, garbled ? "WRONG" : "ok");
    assert(garbled == 0);
    return 0;
}
