/* txn: transactions as an application on librdkafka makes them.
 *
 *   txn HOST:PORT TOPIC PARTITIONS SIZE RECORDS PRODUCERS WARM_SECS SECS
 *
 * PRODUCERS transactional producers, a thread each: begin, RECORDS records over all partitions, commit, again and again.
 * The commit is timed from the call to its return, which waits for the records, too. Several producers, because one spends
 * most of a transaction in librdkafka's own timers. Prints one JSON object. Linked like endtoend.c.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_s client;
typedef struct rd_kafka_conf_s settings;
typedef struct rd_kafka_topic_s topic_handle;
typedef struct rd_kafka_error_s failure;
settings *rd_kafka_conf_new(void);
int rd_kafka_conf_set(settings *, const char *name, const char *value, char *error, size_t error_size);
client *rd_kafka_new(int type, settings *, char *error, size_t error_size);
topic_handle *rd_kafka_topic_new(client *, const char *topic, void *conf);
int rd_kafka_produce(topic_handle *, int32_t partition, int flags, void *value, size_t len, const void *key, size_t key_len,
                     void *opaque);
failure *rd_kafka_init_transactions(client *, int timeout_ms);
failure *rd_kafka_begin_transaction(client *);
failure *rd_kafka_commit_transaction(client *, int timeout_ms);
const char *rd_kafka_error_string(const failure *);
enum { PRODUCER = 0, FLAG_COPY = 2, SAMPLES_MAX = 1 << 18, PRODUCERS_MAX = 64 };

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *what) { fprintf(stderr, "txn: %s\n", what); exit(1); }
static void check(failure *f) { if (f) die(rd_kafka_error_string(f)); }
static void set(settings *c, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(c, name, value, error, sizeof error)) die(error);
}
static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static const char *address, *topic;
static int partitions, size, records;
static double warm, secs;
static struct { uint64_t *samples, first, last; long count, all; } result[PRODUCERS_MAX];

static void *produce(void *which) {
    long n = (long)(intptr_t)which, serial = n;
    char error[512], id[64], *value = malloc(size);
    memset(value, 'v', size);
    settings *c = rd_kafka_conf_new();
    snprintf(id, sizeof id, "bench-txn-%ld-%llu", n, (unsigned long long)now_ns());
    set(c, "bootstrap.servers", address); set(c, "transactional.id", id); set(c, "linger.ms", "0");
    set(c, "socket.nagle.disable", "true");
    client *p = rd_kafka_new(PRODUCER, c, error, sizeof error);
    if (!p) die(error);
    topic_handle *t = rd_kafka_topic_new(p, topic, NULL);
    check(rd_kafka_init_transactions(p, 30000));
    uint64_t from = now_ns() + (uint64_t)(warm * 1e9), until = from + (uint64_t)(secs * 1e9);
    result[n].samples = malloc(SAMPLES_MAX * sizeof(uint64_t));
    result[n].first = from;
    while (now_ns() < until && result[n].count < SAMPLES_MAX) {
        check(rd_kafka_begin_transaction(p));
        for (int i = 0; i < records; i++)
            if (rd_kafka_produce(t, serial++ % partitions, FLAG_COPY, value, size, NULL, 0, NULL)) die("produce failed");
        uint64_t sent = now_ns();
        check(rd_kafka_commit_transaction(p, 30000));
        result[n].last = now_ns();
        result[n].all++;
        if (sent >= from) result[n].samples[result[n].count++] = result[n].last - sent;
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 9) die("usage: txn HOST:PORT TOPIC PARTITIONS SIZE RECORDS PRODUCERS WARM_SECS SECS");
    address = argv[1]; topic = argv[2];
    partitions = atoi(argv[3]); size = atoi(argv[4]); records = atoi(argv[5]);
    int producers = atoi(argv[6]);
    warm = atof(argv[7]); secs = atof(argv[8]);
    if (producers < 1 || producers > PRODUCERS_MAX) die("too many producers");
    pthread_t threads[PRODUCERS_MAX];
    for (long i = 0; i < producers; i++) pthread_create(&threads[i], NULL, produce, (void *)(intptr_t)i);
    long count = 0, all = 0, at = 0;
    double rate = 0;
    for (int i = 0; i < producers; i++) {
        pthread_join(threads[i], NULL);
        count += result[i].count; all += result[i].all;
        rate += result[i].count / ((result[i].last - result[i].first) / 1e9);
    }
    if (!count) die("no transaction was committed in time");
    uint64_t *samples = malloc(count * sizeof *samples);
    for (int i = 0; i < producers; i++) for (long k = 0; k < result[i].count; k++) samples[at++] = result[i].samples[k];
    qsort(samples, count, sizeof *samples, ascending);
    printf("{\"requests\":%ld,\"all\":%ld,\"rate\":%.3f,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f}\n", count,
           all, rate, samples[count / 2] / 1e3, samples[(long)(count * .9)] / 1e3, samples[(long)(count * .99)] / 1e3,
           samples[(long)(count * .999)] / 1e3);
    return 0;
}
