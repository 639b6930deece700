/* coldread: read partitions from their beginning with librdkafka, as fast as it goes.
 *
 *   coldread HOST:PORT TOPIC UNTIL[,UNTIL...] [NAME=VALUE...]
 *
 * Partition i is read from offset 0 up to the i-th UNTIL (exclusive). Records are looked at and dropped. Prints one JSON
 * object: seconds from the assignment to the last record, to the first one, records, bytes of values, CPU seconds. Further
 * arguments are librdkafka's settings. Linked against the librdkafka that the confluent-kafka wheel carries.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

/* librdkafka's stable C interface: only what is used here. */
typedef struct rd_kafka_s client;
typedef struct rd_kafka_conf_s settings;
typedef struct rd_kafka_queue_s queue;
typedef struct { int err; void *rkt; int32_t partition; void *payload; size_t len; void *key; size_t key_len;
                 int64_t offset; void *_private; } message;
typedef struct { char *topic; int32_t partition; int64_t offset; } place;
typedef struct places_s places;
settings *rd_kafka_conf_new(void);
int rd_kafka_conf_set(settings *, const char *name, const char *value, char *error, size_t error_size);
client *rd_kafka_new(int type, settings *, char *error, size_t error_size);
int rd_kafka_poll_set_consumer(client *);
queue *rd_kafka_queue_get_consumer(client *);
places *rd_kafka_topic_partition_list_new(int size);
place *rd_kafka_topic_partition_list_add(places *, const char *topic, int32_t partition);
int rd_kafka_assign(client *, const places *);
ssize_t rd_kafka_consume_batch_queue(queue *, int timeout_ms, message **, size_t size);
void rd_kafka_message_destroy(message *);
const char *rd_kafka_err2str(int);
enum { CONSUMER = 1, AT_ONCE = 1000, PARTITIONS_MAX = 1024, SILENCE_S = 60 };

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static double cpu_s(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}
static void die(const char *what) { fprintf(stderr, "coldread: %s\n", what); exit(1); }
static void set(settings *c, const char *name, const char *value) {
    char error[512];
    if (rd_kafka_conf_set(c, name, value, error, sizeof error)) die(error);
}

int main(int argc, char **argv) {
    if (argc < 4) die("usage: coldread HOST:PORT TOPIC UNTIL[,UNTIL...] [NAME=VALUE...]");
    char error[512];
    settings *c = rd_kafka_conf_new();
    set(c, "bootstrap.servers", argv[1]); set(c, "group.id", "bench-coldread"); set(c, "enable.auto.commit", "false");
    for (int i = 4; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) die("a setting is NAME=VALUE");
        *value = 0;
        set(c, argv[i], value + 1);
    }
    int64_t until[PARTITIONS_MAX], left = 0;
    int partitions = 0;
    for (char *p = strtok(argv[3], ","); p && partitions < PARTITIONS_MAX; p = strtok(NULL, ","))
        left += until[partitions++] = atoll(p);
    client *rk = rd_kafka_new(CONSUMER, c, error, sizeof error);
    if (!rk) die(error);
    rd_kafka_poll_set_consumer(rk);
    queue *q = rd_kafka_queue_get_consumer(rk);
    places *where = rd_kafka_topic_partition_list_new(partitions);
    for (int i = 0; i < partitions; i++) rd_kafka_topic_partition_list_add(where, argv[2], i)->offset = 0;
    double begin = now_s(), cpu = cpu_s(), first = 0, last = begin;
    rd_kafka_assign(rk, where);
    message *got[AT_ONCE];
    uint64_t bytes = 0, records = 0;
    while (left > 0) {
        ssize_t n = rd_kafka_consume_batch_queue(q, 100, got, AT_ONCE);
        double t = now_s();
        if (n <= 0 && t - last > SILENCE_S) die("nothing came for a minute");
        for (ssize_t i = 0; i < n; i++) {
            message *m = got[i];
            if (m->err) fprintf(stderr, "coldread: %s\n", rd_kafka_err2str(m->err));
            else if (m->offset < until[m->partition]) { left--; records++; bytes += m->len; }
            rd_kafka_message_destroy(m);
        }
        if (n > 0) { last = t; if (!first) first = t; }
    }
    printf("{\"seconds\":%.4f,\"first_s\":%.4f,\"records\":%lu,\"bytes\":%lu,\"cpu_s\":%.4f}\n", now_s() - begin, first - begin,
           (unsigned long)records, (unsigned long)bytes, cpu_s() - cpu);
    fflush(stdout);
    _Exit(0);
}
