/* keyedlog: writes the batches of a log with keys, as a broker would have: segments of record batches, format 2.
 *
 *   keyedlog DIR RECORDS KEYS VALUE_BYTES BATCH_RECORDS SEGMENT_BYTES
 *
 * Record i has key (i * a large prime) % KEYS, 16 digits: as long as RECORDS is a multiple of KEYS every key occurs
 * equally often, far from its last time. Values are text. Indexes are left to the broker, which makes them when it
 * opens the log. Prints one JSON object. Built by bench/build.py.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define HEADER 61
#define KEY 16
#define STRIDE 2654435761ULL

static uint32_t table[8][256];

static void make_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0x82F63B78 : c >> 1;
        table[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (int k = 1; k < 8; k++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

static uint32_t crc32c(const uint8_t *p, size_t n) {
    uint32_t c = ~0u;
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t low = c ^ (p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24);
        c = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
            table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    while (n--) c = c >> 8 ^ table[0][(c ^ *p++) & 255];
    return ~c;
}

static void put(uint8_t *p, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = value >> 8 * (bytes - 1 - i);
}

static uint8_t *varint(uint8_t *p, int64_t number) {
    uint64_t v = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    for (; v >= 128; v >>= 7) *p++ = v | 128;
    *p++ = v;
    return p;
}

static int varint_size(int64_t number) {
    uint8_t scratch[10];
    return varint(scratch, number) - scratch;
}

static FILE *segment(const char *folder, uint64_t base) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%020llu.log", folder, (unsigned long long)base);
    FILE *f = fopen(path, "wb");
    if (!f) { perror(path); exit(1); }
    setvbuf(f, NULL, _IOFBF, 1 << 20);
    return f;
}

int main(int argc, char **argv) {
    if (argc != 7) { fprintf(stderr, "keyedlog DIR RECORDS KEYS VALUE_BYTES BATCH_RECORDS SEGMENT_BYTES\n"); return 2; }
    uint64_t records = strtoull(argv[2], 0, 10), keys = strtoull(argv[3], 0, 10), limit = strtoull(argv[6], 0, 10);
    long value = atol(argv[4]), most = atol(argv[5]), segments = 0;
    uint8_t *batch = malloc(HEADER + most * (value + KEY + 32)), *text = malloc(value + 1);
    uint64_t written = 0, total = 0;
    struct timeval t;
    FILE *out = NULL;
    if (!keys || !most || !batch || !text) return 2;
    make_table();
    gettimeofday(&t, NULL);
    int64_t now_ms = t.tv_sec * 1000LL + t.tv_usec / 1000;
    for (long i = 0; i < value; i++) text[i] = 'a' + i * 7 % 26;
    for (uint64_t base = 0; base < records; base += most) {
        long count = records - base < (uint64_t)most ? (long)(records - base) : most;
        uint8_t *p = batch + HEADER;
        for (long i = 0; i < count; i++) {
            long size = 1 + 1 + varint_size(i) + varint_size(KEY) + KEY + varint_size(value) + value + 1;
            char digits[24];
            snprintf(digits, sizeof digits, "%016llu", (unsigned long long)((base + i) % keys * STRIDE % keys));
            p = varint(p, size);
            *p++ = 0;
            *p++ = 0;
            p = varint(p, i);
            p = varint(p, KEY);
            memcpy(p, digits, KEY);
            p = varint(p + KEY, value);
            memcpy(p, text, value);
            p += value;
            *p++ = 0;
        }
        size_t size = p - batch;
        put(batch, base, 8), put(batch + 8, size - 12, 4), put(batch + 12, 0, 4), put(batch + 16, 2, 1);
        put(batch + 21, 0, 2), put(batch + 23, count - 1, 4), put(batch + 27, now_ms, 8), put(batch + 35, now_ms, 8);
        put(batch + 43, -1, 8), put(batch + 51, -1, 2), put(batch + 53, -1, 4), put(batch + 57, count, 4);
        put(batch + 17, crc32c(batch + 21, size - 21), 4);
        if (!out || written + size > limit) {
            if (out && fclose(out)) { perror("keyedlog"); return 1; }
            out = segment(argv[1], base);
            written = 0;
            segments++;
        }
        if (fwrite(batch, 1, size, out) != size) { perror("keyedlog"); return 1; }
        written += size;
        total += size;
    }
    if (out && fclose(out)) { perror("keyedlog"); return 1; }
    if (fclose(segment(argv[1], records))) return 1; /* the segment that would be written to next */
    printf("{\"bytes\":%llu,\"segments\":%ld,\"records\":%llu}\n", (unsigned long long)total, segments,
           (unsigned long long)records);
    return 0;
}
