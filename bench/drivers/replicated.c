/* replicated: how fast an application on librdkafka gets acknowledgements of a whole in-sync set.
 *
 *   replicated BOOTSTRAP TOPIC PARTITIONS SIZE LINGER_MS WARM_SECS SECS
 *
 * One producer with acks=all and idempotence sends values of SIZE bytes round the partitions as fast as its queue takes them. What
 * is acknowledged within SECS after WARM_SECS counts; the time from send to acknowledgement is sampled. Prints one JSON
 * object. Linked like endtoend.c.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_s client;
typedef struct rd_kafka_conf_s settings;
typedef struct rd_kafka_topic_s topic_handle;
typedef struct { int err; topic_handle *rkt; int32_t partition; void *payload; size_t len; void *key; size_t key_len;
                 int64_t offset; void *_private; } message;
settings *rd_kafka_conf_new(void);
int rd_kafka_conf_set(settings *, const char *name, const char *value, char *error, size_t error_size);
void rd_kafka_conf_set_dr_msg_cb(settings *, void (*)(client *, const message *, void *));
client *rd_kafka_new(int type, settings *, char *error, size_t error_size);
topic_handle *rd_kafka_topic_new(client *, const char *topic, void *conf);
int rd_kafka_produce(topic_handle *, int32_t partition, int flags, void *value, size_t len, const void *key, size_t key_len,
                     void *opaque);
int rd_kafka_poll(client *, int timeout_ms);
int rd_kafka_outq_len(client *);
enum { PRODUCER = 0, FLAG_COPY = 2, SAMPLES_MAX = 1 << 20, EVERY = 16 };

static uint64_t from, until, samples[SAMPLES_MAX];
static long acked, failed, sampled;
static int size;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *what) { fprintf(stderr, "replicated: %s\n", what); exit(1); }
static void set(settings *c, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(c, name, value, error, sizeof error)) die(error);
}
static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
static void delivered(client *c, const message *m, void *opaque) {
    (void)c; (void)opaque;
    uint64_t now = now_ns();
    if (m->err) { failed++; return; }
    if (now < from || now >= until) return;
    if (acked++ % EVERY == 0 && sampled < SAMPLES_MAX) samples[sampled++] = now - (uint64_t)(uintptr_t)m->_private;
}

int main(int argc, char **argv) {
    if (argc != 8) die("usage: replicated BOOTSTRAP TOPIC PARTITIONS SIZE LINGER_MS WARM_SECS SECS");
    int partitions = atoi(argv[3]);
    char error[512];
    size = atoi(argv[4]);
    settings *c = rd_kafka_conf_new();
    set(c, "bootstrap.servers", argv[1]); set(c, "acks", "all"); set(c, "enable.idempotence", "true");
    set(c, "linger.ms", argv[5]); set(c, "queue.buffering.max.kbytes", "65536"); set(c, "queue.buffering.max.messages", "500000");
    set(c, "socket.nagle.disable", "true");
    rd_kafka_conf_set_dr_msg_cb(c, delivered);
    client *p = rd_kafka_new(PRODUCER, c, error, sizeof error);
    if (!p) die(error);
    topic_handle *t = rd_kafka_topic_new(p, argv[2], NULL);
    char *value = malloc(size);
    for (int i = 0; i < size; i++) value[i] = (char)(i * 31 + 7);
    from = now_ns() + (uint64_t)(atof(argv[6]) * 1e9);
    until = from + (uint64_t)(atof(argv[7]) * 1e9);
    for (long n = 0; now_ns() < until; n++) {
        while (rd_kafka_produce(t, n % partitions, FLAG_COPY, value, size, NULL, 0, (void *)(uintptr_t)now_ns())) {
            rd_kafka_poll(p, 10);
            if (now_ns() >= until) break;
        }
        if (n % 64 == 0) rd_kafka_poll(p, 0);
    }
    for (int i = 0; i < 600 && rd_kafka_outq_len(p) > 0; i++) rd_kafka_poll(p, 100);
    if (!acked || !sampled) die("nothing was acknowledged in time");
    if (failed) die("the cluster refused records");
    qsort(samples, sampled, sizeof *samples, ascending);
    double secs = (until - from) / 1e9;
    printf("{\"acked\":%ld,\"rate\":%.1f,\"mb_s\":%.2f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n", acked, acked / secs, acked * (double)size / secs / 1e6,
           samples[sampled / 2] / 1e3, samples[(long)(sampled * .99)] / 1e3);
    return 0;
}
