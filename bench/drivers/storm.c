/* storm: a rebalance storm of librdkafka consumers, and how long each partition stood still for whoever reads it.
 *
 *   storm HOST:PORT TOPIC PARTITIONS MEMBERS SECS RATE SEED [NAME=VALUE …]
 *
 * A producer sends RATE records a second to each partition. One consumer stays from beginning to end; MEMBERS others join
 * at random moments of SECS seconds and leave again within them, a thread each that polls, as an application would. All
 * are members of one group with librdkafka's own settings, save for NAME=VALUE. Offsets are committed as librdkafka does
 * by itself: every five seconds, before a partition is given up, and on leaving.
 *
 * A partition stands still when more than STILL_MS pass between two deliveries, to whomever. The measurement begins when
 * the first consumer has had a record of every partition, and ends when it has one of each that was sent after the last
 * visitor left (within SETTLE_S; visitors that cannot leave and partitions that do not come back are told). Then the
 * producer stops, the rest is read, and every offset must have been delivered. One JSON object.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef struct rd_kafka_s client;
typedef struct rd_kafka_conf_s settings;
typedef struct rd_kafka_topic_s topic_handle;
typedef struct { int err; topic_handle *rkt; int32_t partition; void *payload; size_t len; void *key; size_t key_len;
                 int64_t offset; void *_private; } message;
typedef struct places_s places;
settings *rd_kafka_conf_new(void);
int rd_kafka_conf_set(settings *, const char *name, const char *value, char *error, size_t error_size);
void rd_kafka_conf_set_dr_msg_cb(settings *, void (*)(client *, const message *, void *));
client *rd_kafka_new(int type, settings *, char *error, size_t error_size);
void rd_kafka_destroy(client *);
topic_handle *rd_kafka_topic_new(client *, const char *topic, void *conf);
int rd_kafka_produce(topic_handle *, int32_t partition, int flags, void *value, size_t len, const void *key, size_t key_len,
                     void *opaque);
int rd_kafka_poll(client *, int timeout_ms);
int rd_kafka_flush(client *, int timeout_ms);
int rd_kafka_poll_set_consumer(client *);
places *rd_kafka_topic_partition_list_new(int size);
void *rd_kafka_topic_partition_list_add(places *, const char *topic, int32_t partition);
int rd_kafka_subscribe(client *, const places *);
int rd_kafka_consumer_close(client *);
message *rd_kafka_consumer_poll(client *, int timeout_ms);
void rd_kafka_message_destroy(message *);
enum { PRODUCER = 0, CONSUMER = 1, FLAG_COPY = 2, PARTITIONS_MAX = 4096, MEMBERS_MAX = 1024, STILL_MS = 250, VALUE = 100,
       POLL_MS = 100, SETTLE_S = 90 };

static const char *address, *topic;
static char group[64], **more;
static int partitions, members, more_count;
static double secs, rate;
static volatile int producing = 1, reading = 1, left;
static volatile long failed, complaints;
static volatile uint64_t began, over;
static long offsets_max;

static struct lane {
    pthread_mutex_t lock;
    uint64_t last, newest, still, longest;
    long sent, seen, twice, moved, gaps;
    int owner;
    uint8_t *times;
} lanes[PARTITIONS_MAX];
static struct { double at, stay; uint64_t left_ns; } visits[MEMBERS_MAX];

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *what) { fprintf(stderr, "storm: %s\n", what); exit(1); }
static void set(settings *c, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(c, name, value, error, sizeof error)) die(error);
}
static void sleep_until(uint64_t at) {
    struct timespec t = {at / 1000000000ull, at % 1000000000ull};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) {}
}
static double chance(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static void on_ack(client *rk, const message *m, void *opaque) {
    (void)rk; (void)opaque;
    if (m->err) { __sync_fetch_and_add(&failed, 1); return; }
    if (m->offset >= lanes[m->partition].sent) lanes[m->partition].sent = m->offset + 1;
}

static void *produce(void *unused) {
    (void)unused;
    char error[512], value[VALUE] = {0};
    settings *c = rd_kafka_conf_new();
    set(c, "bootstrap.servers", address); set(c, "enable.idempotence", "true");
    rd_kafka_conf_set_dr_msg_cb(c, on_ack);
    client *p = rd_kafka_new(PRODUCER, c, error, sizeof error);
    if (!p) die(error);
    topic_handle *t = rd_kafka_topic_new(p, topic, NULL);
    uint64_t from = now_ns();
    for (uint64_t count = 0; producing;) {
        uint64_t due = (uint64_t)((now_ns() - from) / 1e9 * rate * partitions);
        for (; count < due; count++) {
            uint64_t sent = now_ns();
            memcpy(value, &sent, sizeof sent);
            if (rd_kafka_produce(t, count % partitions, FLAG_COPY, value, VALUE, NULL, 0, NULL)) die("produce failed");
        }
        rd_kafka_poll(p, 2);
    }
    if (rd_kafka_flush(p, 30000)) die("records were not acknowledged");
    return NULL;
}

static void stood_still(struct lane *lane, uint64_t until) {
    uint64_t gap = until - (lane->last > began ? lane->last : began);
    if (gap <= STILL_MS * 1000000ull) return;
    lane->still += gap; lane->gaps++;
    if (gap > lane->longest) lane->longest = gap;
}

static void delivered(const message *m, int who) {
    struct lane *lane = &lanes[m->partition];
    uint64_t now = now_ns(), sent;
    memcpy(&sent, m->payload, sizeof sent);
    pthread_mutex_lock(&lane->lock);
    if (began && !over && lane->last) stood_still(lane, now);
    if (lane->last && lane->owner != who) lane->moved++;
    lane->last = now; lane->owner = who;
    if (sent > lane->newest) lane->newest = sent;
    if (m->offset >= offsets_max) die("more records than expected");
    if (lane->times[m->offset]) lane->twice++; else lane->seen++;
    if (lane->times[m->offset] < 255) lane->times[m->offset]++;
    pthread_mutex_unlock(&lane->lock);
}

static client *join(void) {
    char error[512];
    settings *c = rd_kafka_conf_new();
    set(c, "bootstrap.servers", address); set(c, "group.id", group); set(c, "auto.offset.reset", "earliest");
    for (int i = 0; i < more_count; i++) {
        char *equals = strchr(more[i], '='), name[128];
        if (!equals || equals - more[i] >= (long)sizeof name) die("settings are NAME=VALUE");
        memcpy(name, more[i], equals - more[i]); name[equals - more[i]] = 0;
        set(c, name, equals + 1);
    }
    client *rk = rd_kafka_new(CONSUMER, c, error, sizeof error);
    if (!rk) die(error);
    rd_kafka_poll_set_consumer(rk);
    places *wanted = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(wanted, topic, -1);
    if (rd_kafka_subscribe(rk, wanted)) die("cannot subscribe");
    return rk;
}
static void read_one(client *rk, int who) {
    message *m = rd_kafka_consumer_poll(rk, POLL_MS);
    if (!m) return;
    if (m->err) __sync_fetch_and_add(&complaints, 1); else delivered(m, who);
    rd_kafka_message_destroy(m);
}
static void leave(client *rk) {
    if (rd_kafka_consumer_close(rk)) __sync_fetch_and_add(&complaints, 1);
    rd_kafka_destroy(rk);
}

static void *stay(void *unused) {
    (void)unused;
    client *rk = join();
    while (reading) read_one(rk, 0);
    leave(rk);
    return NULL;
}
static void *visit(void *which) {
    long n = (long)(intptr_t)which;
    sleep_until(began + (uint64_t)(visits[n].at * 1e9));
    uint64_t until = began + (uint64_t)((visits[n].at + visits[n].stay) * 1e9);
    client *rk = join();
    while (now_ns() < until) read_one(rk, n + 1);
    leave(rk);
    visits[n].left_ns = now_ns() - until;
    __sync_fetch_and_add(&left, 1);
    return NULL;
}

static int all_newer(uint64_t than) {
    for (int i = 0; i < partitions; i++) if (lanes[i].newest <= than) return 0;
    return 1;
}
static int all_read(void) {
    for (int i = 0; i < partitions; i++) if (lanes[i].seen < lanes[i].sent) return 0;
    return 1;
}
static int soon(int (*done)(uint64_t), uint64_t than, double wait_s) {
    for (uint64_t end = now_ns() + (uint64_t)(wait_s * 1e9); !done(than);) {
        if (now_ns() > end) return 0;
        usleep(2000);
    }
    return 1;
}
static int all_left(uint64_t unused) { (void)unused; return left == members; }
static int nothing_missing(uint64_t unused) { (void)unused; return all_read(); }
static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
static void print_three(const char *name, uint64_t *values, int count) {
    qsort(values, count, sizeof *values, ascending);
    printf("\"%s_p50_s\":%.3f,\"%s_p99_s\":%.3f,\"%s_max_s\":%.3f,", name, values[count / 2] / 1e9, name,
           values[(count * 99 - 1) / 100] / 1e9, name, values[count - 1] / 1e9);
}

int main(int argc, char **argv) {
    if (argc < 8) die("usage: storm HOST:PORT TOPIC PARTITIONS MEMBERS SECS RATE SEED [NAME=VALUE …]");
    address = argv[1]; topic = argv[2]; partitions = atoi(argv[3]); members = atoi(argv[4]);
    secs = atof(argv[5]); rate = atof(argv[6]);
    uint64_t state = strtoull(argv[7], NULL, 10);
    more = argv + 8; more_count = argc - 8;
    if (partitions < 1 || partitions > PARTITIONS_MAX || members > MEMBERS_MAX) die("too many");
    snprintf(group, sizeof group, "storm-%llu", (unsigned long long)now_ns());
    offsets_max = (long)((secs + 4 * SETTLE_S) * rate) + 1;
    for (int i = 0; i < partitions; i++) {
        pthread_mutex_init(&lanes[i].lock, NULL);
        lanes[i].times = calloc(offsets_max, 1);
    }
    pthread_t source, first, others[MEMBERS_MAX];
    pthread_create(&source, NULL, produce, NULL);
    pthread_create(&first, NULL, stay, NULL);
    if (!soon(all_newer, 0, SETTLE_S)) die("the first consumer does not get everything");
    began = now_ns();
    for (long i = 0; i < members; i++) {
        visits[i].at = chance(&state) * secs * 0.7;
        visits[i].stay = secs * 0.1 + chance(&state) * (secs * 0.9 - visits[i].at);
        pthread_create(&others[i], NULL, visit, (void *)(intptr_t)i);
    }
    soon(all_left, 0, secs + SETTLE_S);
    int stuck = members - left, away = 0;
    uint64_t last = now_ns();
    soon(all_newer, last, SETTLE_S);
    over = now_ns();
    for (int i = 0; i < partitions; i++) {
        pthread_mutex_lock(&lanes[i].lock);
        if (lanes[i].newest <= last) { away++; stood_still(&lanes[i], over); }
        pthread_mutex_unlock(&lanes[i].lock);
    }
    producing = 0;
    pthread_join(source, NULL);
    soon(nothing_missing, 0, 15);
    uint64_t spent[PARTITIONS_MAX], longest[PARTITIONS_MAX], leaving[MEMBERS_MAX + 1] = {0}, all = 0;
    long sent = 0, seen = 0, twice = 0, moved = 0, gaps = 0;
    for (int i = 0; i < partitions; i++) {
        all += spent[i] = lanes[i].still; longest[i] = lanes[i].longest;
        sent += lanes[i].sent; seen += lanes[i].seen; twice += lanes[i].twice; moved += lanes[i].moved; gaps += lanes[i].gaps;
    }
    for (int i = 0; i < members; i++) leaving[i] = visits[i].left_ns ? visits[i].left_ns : SETTLE_S * 1000000000ull;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("{");
    print_three("still", spent, partitions);
    print_three("gap", longest, partitions);
    if (members) print_three("leave", leaving, members);
    printf("\"still_sum_s\":%.3f,\"gaps\":%ld,\"moved\":%ld,\"sent\":%ld,\"missing\":%ld,\"twice\":%ld,\"failed\":%ld,"
           "\"stuck\":%d,\"away\":%d,\"complaints\":%ld,\"elapsed_s\":%.3f,\"client_cpu_s\":%.3f}\n",
           all / 1e9, gaps, moved, sent, sent - seen, twice, failed, stuck, away, complaints, (over - began) / 1e9,
           used.ru_utime.tv_sec + used.ru_stime.tv_sec + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    fflush(stdout);
    reading = 0;
    if (!stuck) pthread_join(first, NULL);
    _exit(0); /* not after those who cannot leave */
}
