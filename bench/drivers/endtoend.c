/* endtoend: publish-to-deliver time as an application on librdkafka sees it.
 *
 *   endtoend HOST:PORT TOPIC SIZE RATE WARM_SECS SECS ACKS
 *
 * A producer and a consumer (partition 0, from its end) in one process share one clock; the send time travels
 * in the first eight bytes of the value. Prints one JSON object. Linked against the librdkafka that the
 * confluent-kafka wheel carries; the few declarations needed stand below, so no header package is required.
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

/* librdkafka's stable C interface: only what is used here. */
typedef struct rd_kafka_s client;
typedef struct rd_kafka_conf_s settings;
typedef struct rd_kafka_topic_s topic_handle;
typedef struct { int err; topic_handle *rkt; int32_t partition; void *payload; size_t len; void *key; size_t key_len;
                 int64_t offset; void *_private; } message;
typedef struct { char *topic; int32_t partition; int64_t offset; } place;
typedef struct places_s places;
settings *rd_kafka_conf_new(void);
int rd_kafka_conf_set(settings *, const char *name, const char *value, char *error, size_t error_size);
void rd_kafka_conf_set_dr_msg_cb(settings *, void (*)(client *, const message *, void *));
client *rd_kafka_new(int type, settings *, char *error, size_t error_size);
topic_handle *rd_kafka_topic_new(client *, const char *topic, void *conf);
int rd_kafka_metadata(client *, int all, topic_handle *, const void **out, int timeout_ms);
void rd_kafka_metadata_destroy(const void *);
int rd_kafka_produce(topic_handle *, int32_t partition, int flags, void *value, size_t len, const void *key, size_t key_len,
                     void *opaque);
int rd_kafka_poll(client *, int timeout_ms);
int rd_kafka_outq_len(client *);
int rd_kafka_poll_set_consumer(client *);
places *rd_kafka_topic_partition_list_new(int size);
place *rd_kafka_topic_partition_list_add(places *, const char *topic, int32_t partition);
int rd_kafka_assign(client *, const places *);
message *rd_kafka_consumer_poll(client *, int timeout_ms);
void rd_kafka_message_destroy(message *);
const char *rd_kafka_version_str(void);
enum { PRODUCER = 0, CONSUMER = 1, FLAG_COPY = 2, FROM_END = -1, PARTITION_EOF = -191 };

static volatile int stop, caught_up;
static volatile long delivered, acked, failed;
static uint64_t measure_from = UINT64_MAX, *delivery, *acknowledgement;
static long capacity;

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void die(const char *what) { fprintf(stderr, "endtoend: %s\n", what); exit(1); }
static void set(settings *c, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(c, name, value, error, sizeof error)) die(error);
}

static void on_ack(client *rk, const message *m, void *opaque) {
    (void)rk; (void)opaque;
    uint64_t sent = (uint64_t)(uintptr_t)m->_private;
    if (m->err) failed++;
    else if (sent >= measure_from && acked < capacity) acknowledgement[acked++] = now_ns() - sent;
}

static client *producer(const char *address, const char *acks) {
    char error[512];
    settings *c = rd_kafka_conf_new();
    set(c, "bootstrap.servers", address); set(c, "acks", acks); set(c, "linger.ms", "0"); set(c, "socket.nagle.disable", "true");
    rd_kafka_conf_set_dr_msg_cb(c, on_ack);
    client *rk = rd_kafka_new(PRODUCER, c, error, sizeof error);
    if (!rk) die(error);
    return rk;
}

static client *consumer(const char *address, const char *topic) {
    char error[512];
    settings *c = rd_kafka_conf_new();
    set(c, "bootstrap.servers", address); set(c, "group.id", "bench-endtoend"); set(c, "enable.auto.commit", "false");
    set(c, "enable.partition.eof", "true"); set(c, "socket.nagle.disable", "true");
    client *rk = rd_kafka_new(CONSUMER, c, error, sizeof error);
    if (!rk) die(error);
    rd_kafka_poll_set_consumer(rk);
    places *where = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(where, topic, 0)->offset = FROM_END;
    rd_kafka_assign(rk, where);
    return rk;
}

static void *consume(void *rk) {
    while (!stop) {
        message *m = rd_kafka_consumer_poll(rk, 100);
        if (!m) continue;
        uint64_t t = now_ns(), sent;
        if (m->err == PARTITION_EOF) caught_up = 1;
        else if (!m->err && m->len >= 8) {
            memcpy(&sent, m->payload, 8);
            if (sent >= measure_from && delivered < capacity) delivery[delivered++] = t - sent;
        }
        rd_kafka_message_destroy(m);
    }
    return NULL;
}
static void *collect_acks(void *rk) { while (!stop) rd_kafka_poll(rk, 10); return NULL; }

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}
static void percentiles(const char *name, uint64_t *v, long n) {
    qsort(v, n, sizeof *v, ascending);
#define AT(f) (n ? v[(long)((n - 1) * (f))] / 1e3 : 0)
    printf(",\"%s_n\":%ld,\"%s_p50_us\":%.1f,\"%s_p90_us\":%.1f,\"%s_p99_us\":%.1f,\"%s_p999_us\":%.1f,\"%s_max_us\":%.1f", name, n,
           name, AT(.5), name, AT(.9), name, AT(.99), name, AT(.999), name, AT(1));
}

int main(int argc, char **argv) {
    if (argc != 8) die("usage: endtoend HOST:PORT TOPIC SIZE RATE WARM_SECS SECS ACKS");
    const char *address = argv[1], *topic = argv[2];
    int size = atoi(argv[3]) < 8 ? 8 : atoi(argv[3]), rate = atoi(argv[4]);
    double warm = atof(argv[5]), secs = atof(argv[6]);
    const void *metadata;
    pthread_t reader, acks;
    capacity = (long)(rate * (secs + 1)) + 1000;
    delivery = calloc(capacity, 8); acknowledgement = calloc(capacity, 8);
    client *p = producer(address, argv[7]), *c = consumer(address, topic);
    topic_handle *t = rd_kafka_topic_new(p, topic, NULL);
    if (rd_kafka_metadata(p, 0, t, &metadata, 15000)) die("no metadata within 15 s");
    rd_kafka_metadata_destroy(metadata);
    pthread_create(&reader, NULL, consume, c);
    pthread_create(&acks, NULL, collect_acks, p);
    for (int i = 0; i < 200 && !caught_up; i++) usleep(50000);
    if (!caught_up) die("the consumer did not reach the end of the partition within 10 s");

    uint64_t step = 1000000000ull / rate, begin = now_ns() + step, n;
    long total = (long)(rate * (warm + secs));
    char *value = malloc(size);
    for (int i = 0; i < size; i++) value[i] = 'a' + i % 26;
    measure_from = begin + (uint64_t)(warm * 1e9);
    for (long i = 0; i < total; i++) {
        uint64_t due = begin + i * step;
        while ((n = now_ns()) < due) {
            struct timespec at = {(time_t)(due / 1000000000ull), (long)(due % 1000000000ull)};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        }
        memcpy(value, &n, 8);
        if (rd_kafka_produce(t, 0, FLAG_COPY, value, size, NULL, 0, (void *)(uintptr_t)n) == -1) failed++;
    }
    for (int i = 0; i < 1000 && rd_kafka_outq_len(p) > 0; i++) usleep(10000);
    usleep(300000);
    stop = 1;
    pthread_join(reader, NULL);
    pthread_join(acks, NULL);
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    printf("{\"mode\":\"endtoend\",\"elapsed_s\":%.3f,\"requests\":%ld,\"errors\":%ld,\"librdkafka\":\"%s\",\"client_cpu_s\":%.2f",
           warm + secs, total, failed, rd_kafka_version_str(),
           r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6);
    percentiles("e2e", delivery, delivered);
    percentiles("ack", acknowledgement, acked);
    printf("}\n");
    fflush(stdout);
    _exit(failed != 0); /* the library's orderly shutdown takes seconds and measures nothing */
}
