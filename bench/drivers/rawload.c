/* rawload: one thread that replays a prepared Kafka request on many connections, pipelined.
 *
 * The server is meant to be the bottleneck, so this side does as little as it can: it sends copies of one
 * frame, finds the ends of the answers and looks at one error code in each. Three modes:
 *
 *   produce  --frame F --partition-pos N --answer-pos N --conns C --depth D --partitions P
 *   fetch    the same, with --offset-pos N; every connection reads its partition from the start to the high
 *            watermark and begins again
 *   latency  one connection, --rate R requests a second, one at a time; round trip measured from the moment
 *            the request was due (a late answer delays the next request, and that counts)
 *
 * Common: --port P, --secs S (measured), --warm W (before that, not measured), --max-mb M (ends the measured
 * time early), --pids 1,2,3 (whose CPU time is the server's). Prints one JSON object. Built by bench/build.py.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH_HEADER 61
#define SEND_BLOCK (256 << 10)
#define STALL_MS 20000

struct options {
    const char *mode, *frame_file, *pids, *samples;
    int port, conns, depth, partitions, partition_pos, answer_pos, offset_pos, rate;
    double secs, warm, max_mb;
};

struct connection {
    int fd, wants_write;
    uint8_t *out;        /* copies of the frame, back to back */
    long owed, sent;     /* frames still to send; bytes of the first of them already sent */
    uint8_t *in;
    long in_len, in_cap;
    int64_t offset;      /* fetch: the next offset to ask for */
};

static struct options opt = {.conns = 1, .depth = 1, .partitions = 1, .offset_pos = -1, .rate = 1000, .secs = 3};
static uint8_t *frame;
static long frame_len, block_len;
static int poller;
static long answers, errors, bytes, useful, wraps;

static void die(const char *what) { perror(what); exit(1); }
static uint32_t get32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return ntohl(v); }
static uint64_t get64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return be64toh(v); }
static int get16(const uint8_t *p) { return (int16_t)(p[0] << 8 | p[1]); }
static void put32(uint8_t *p, uint32_t v) { v = htonl(v); memcpy(p, &v, 4); }
static void put64(uint8_t *p, uint64_t v) { v = htobe64(v); memcpy(p, &v, 8); }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static double server_cpu(void) {
    double total = 0, tick = sysconf(_SC_CLK_TCK);
    char list[4096], path[64], text[2048];
    if (!opt.pids) return 0;
    snprintf(list, sizeof list, "%s", opt.pids);
    for (char *pid = strtok(list, ","); pid; pid = strtok(NULL, ",")) {
        long user = 0, kernel = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", pid);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        size_t n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[n] = 0;
        char *p = strrchr(text, ')');
        if (p) sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &kernel);
        total += (user + kernel) / tick;
    }
    return total;
}

static double own_cpu(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return r.ru_utime.tv_sec + r.ru_stime.tv_sec + (r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static int dial(int nonblocking) {
    int s = socket(AF_INET, SOCK_STREAM, 0), one = 1, size = 4 << 20;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(opt.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    setsockopt(s, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (connect(s, (void *)&to, sizeof to)) die("connect");
    if (nonblocking) fcntl(s, F_SETFL, O_NONBLOCK);
    return s;
}

static void read_frame(void) {
    FILE *f = fopen(opt.frame_file, "rb");
    if (!f) die(opt.frame_file);
    fseek(f, 0, SEEK_END);
    frame_len = ftell(f);
    rewind(f);
    frame = malloc(frame_len);
    if (fread(frame, 1, frame_len, f) != (size_t)frame_len) die("fread");
    fclose(f);
}

static void watch(struct connection *c, int write, int op) {
    struct epoll_event e = {.events = EPOLLIN | (write ? EPOLLOUT : 0), .data.ptr = c};
    epoll_ctl(poller, op, c->fd, &e);
    c->wants_write = write;
}

/* Send what the connection owes; many small frames go out in one call. */
static void pump(struct connection *c) {
    while (c->owed > 0) {
        long want = c->owed * frame_len - c->sent, room = block_len - c->sent;
        ssize_t n = send(c->fd, c->out + c->sent, want < room ? want : room, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno != EAGAIN) die("send");
            if (!c->wants_write) watch(c, 1, EPOLL_CTL_MOD);
            return;
        }
        c->sent += n;
        c->owed -= c->sent / frame_len;
        c->sent %= frame_len;
    }
    if (c->wants_write) watch(c, 0, EPOLL_CTL_MOD);
}

static void complain(int code) {
    if (errors++ < 3) fprintf(stderr, "rawload: error code %d\n", code);
}

/* Walk the whole batches of a fetch answer, count them and aim the connection at what follows. */
static void fetched(struct connection *c, const uint8_t *answer) {
    const uint8_t *p = answer + opt.answer_pos;
    int code = get16(p + 4), shift = 0;
    int64_t high_watermark = get64(p + 6);
    uint64_t length = 0;
    if (code) complain(code);
    p += 4 + 2 + 8 + 8 + 8;
    if (*p > 1) { complain(-100); return; } /* aborted transactions: not in these topics */
    p += 1 + 4;
    do { length |= (uint64_t)(*p & 127) << shift; shift += 7; } while (*p++ & 128);
    const uint8_t *end = p + (length ? length - 1 : 0);
    bytes += end - p;
    while (p + BATCH_HEADER <= end && p + 12 + get32(p + 8) <= end) {
        c->offset = get64(p) + get32(p + 23) + 1;
        useful += 12 + get32(p + 8);
        p += 12 + get32(p + 8);
    }
    if (c->offset >= high_watermark) { c->offset = 0; wraps++; }
    put64(c->out + opt.offset_pos, c->offset);
}

/* Take every whole answer out of the connection's buffer; how many there were. */
static long drain(struct connection *c, int fetching) {
    long pos = 0, done = 0;
    while (c->in_len - pos >= 4) {
        long length = get32(c->in + pos);
        if (4 + length > c->in_cap) { fprintf(stderr, "rawload: answer of %ld bytes\n", length); exit(1); }
        if (c->in_len - pos < 4 + length) break;
        if (fetching) fetched(c, c->in + pos);
        else {
            int code = get16(c->in + pos + opt.answer_pos);
            if (code) complain(code);
            bytes += frame_len;
        }
        pos += 4 + length;
        done++;
    }
    if (pos) memmove(c->in, c->in + pos, c->in_len - pos);
    c->in_len -= pos;
    answers += done;
    return done;
}

static void open_connections(struct connection *all, int fetching) {
    for (int i = 0; i < opt.conns; i++) {
        struct connection *c = all + i;
        c->fd = dial(1);
        c->in_cap = fetching ? 64 << 20 : 1 << 20;
        c->in = malloc(c->in_cap);
        if (fetching || i < opt.partitions) {
            c->out = malloc(block_len);
            for (long at = 0; at < block_len; at += frame_len) {
                memcpy(c->out + at, frame, frame_len);
                put32(c->out + at + opt.partition_pos, i % opt.partitions);
            }
        } else c->out = all[i % opt.partitions].out;
        watch(c, 0, EPOLL_CTL_ADD);
    }
}

static int load(int fetching) {
    struct connection *all = calloc(opt.conns, sizeof *all);
    struct epoll_event ready[256];
    long live = 0;
    if (fetching) opt.depth = 1;
    block_len = frame_len * (SEND_BLOCK / frame_len < opt.depth ? SEND_BLOCK / frame_len : opt.depth);
    if (block_len < frame_len) block_len = frame_len;
    poller = epoll_create1(0);
    open_connections(all, fetching);
    double warm_until = now() + opt.warm, begin = 0, until = 0, cpu = 0, own = 0, end = 0;
    int phase = 0; /* 0 warming, 1 measuring, 2 waiting for the last answers */
    for (int i = 0; i < opt.conns; i++) { all[i].owed = opt.depth; live += opt.depth; pump(all + i); }
    while (live > 0) {
        int n = epoll_wait(poller, ready, 256, STALL_MS);
        double t = now();
        if (n == 0) { fprintf(stderr, "rawload: stalled, %ld answers missing\n", live); exit(1); }
        if (phase == 0 && t >= warm_until) {
            answers = errors = bytes = useful = wraps = 0;
            cpu = server_cpu(); own = own_cpu(); begin = now(); until = begin + opt.secs; phase = 1;
        } else if (phase == 1 && (t >= until || (opt.max_mb > 0 && bytes > opt.max_mb * 1e6))) {
            cpu = server_cpu() - cpu; own = own_cpu() - own; end = now(); phase = 2;
            double took = end - begin;
            printf("{\"mode\":\"%s\",\"elapsed_s\":%.4f,\"requests\":%ld,\"bytes\":%ld,\"useful_bytes\":%ld,\"wraps\":%ld,"
                   "\"server_cpu_s\":%.3f,\"client_cpu_s\":%.3f,",
                   opt.mode, took, answers, bytes, useful, wraps, cpu, own);
        }
        for (int i = 0; i < n; i++) {
            struct connection *c = ready[i].data.ptr;
            if (ready[i].events & EPOLLOUT) pump(c);
            if (!(ready[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))) continue;
            ssize_t got = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len, 0);
            if (got < 0 && errno == EAGAIN) continue;
            if (got <= 0) { fprintf(stderr, "rawload: the server closed a connection\n"); exit(1); }
            c->in_len += got;
            long done = drain(c, fetching);
            live -= done;
            if (done && phase < 2) { c->owed += done; live += done; pump(c); }
        }
    }
    printf("\"errors\":%ld}\n", errors);
    return errors != 0;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void sleep_until(double due) {
    double left;
    while ((left = due - now()) > 0)
        if (left > 80e-6) {
            struct timespec nap = {(time_t)(left - 60e-6), (long)((left - 60e-6 - (time_t)(left - 60e-6)) * 1e9)};
            nanosleep(&nap, NULL);
        }
}

static int latency(void) {
    int s = dial(0);
    long warm = opt.rate * opt.warm, count = opt.rate * opt.secs;
    double *took = malloc(sizeof *took * count), cpu = 0, own = 0, begin = now(), measured = begin;
    uint8_t answer[4096];
    for (long i = 0; i < warm + count; i++) {
        double due = begin + i / (double)opt.rate;
        if (i == warm) { cpu = server_cpu(); own = own_cpu(); errors = 0; measured = now(); }
        sleep_until(due);
        for (long sent = 0; sent < frame_len;) {
            ssize_t n = send(s, frame + sent, frame_len - sent, MSG_NOSIGNAL);
            if (n < 0) die("send");
            sent += n;
        }
        for (long got = 0; got < 4 || got < 4 + (long)get32(answer);) {
            ssize_t n = recv(s, answer + got, sizeof answer - got, 0);
            if (n <= 0) die("recv");
            got += n;
        }
        if (get16(answer + opt.answer_pos)) complain(get16(answer + opt.answer_pos));
        if (i >= warm) took[i - warm] = now() - due;
    }
    double elapsed = now() - measured;
    cpu = server_cpu() - cpu; own = own_cpu() - own;
    if (opt.samples) { /* microseconds, one a line, in the order of the requests */
        FILE *out = fopen(opt.samples, "w");
        if (!out) die(opt.samples);
        for (long i = 0; i < count; i++) fprintf(out, "%.0f\n", took[i] * 1e6);
        if (fclose(out)) die(opt.samples);
    }
    qsort(took, count, sizeof *took, ascending);
#define AT(f) (took[(long)((count - 1) * (f))] * 1e6)
    printf("{\"mode\":\"latency\",\"elapsed_s\":%.4f,\"requests\":%ld,\"bytes\":%ld,\"server_cpu_s\":%.3f,\"client_cpu_s\":%.3f,"
           "\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f,\"errors\":%ld}\n",
           elapsed, count, count * frame_len, cpu, own, AT(.5), AT(.9), AT(.99), AT(.999), AT(1), errors);
    return errors != 0;
}

int main(int argc, char **argv) {
    static const struct option names[] = {
        {"port", 1, 0, 'p'}, {"frame", 1, 0, 'f'}, {"conns", 1, 0, 'c'}, {"depth", 1, 0, 'd'}, {"partitions", 1, 0, 'n'},
        {"partition-pos", 1, 0, 'P'}, {"answer-pos", 1, 0, 'A'}, {"offset-pos", 1, 0, 'O'}, {"rate", 1, 0, 'r'},
        {"secs", 1, 0, 's'}, {"warm", 1, 0, 'w'}, {"max-mb", 1, 0, 'm'}, {"pids", 1, 0, 'i'}, {"samples", 1, 0, 'S'},
        {0, 0, 0, 0}};
    if (argc < 2) { fprintf(stderr, "rawload produce|fetch|latency --port P --frame F …\n"); return 2; }
    opt.mode = argv[1];
    optind = 2;
    for (int o; (o = getopt_long(argc, argv, "", names, NULL)) != -1;) switch (o) {
        case 'p': opt.port = atoi(optarg); break;
        case 'f': opt.frame_file = optarg; break;
        case 'c': opt.conns = atoi(optarg); break;
        case 'd': opt.depth = atoi(optarg); break;
        case 'n': opt.partitions = atoi(optarg); break;
        case 'P': opt.partition_pos = atoi(optarg); break;
        case 'A': opt.answer_pos = atoi(optarg); break;
        case 'O': opt.offset_pos = atoi(optarg); break;
        case 'r': opt.rate = atoi(optarg); break;
        case 's': opt.secs = atof(optarg); break;
        case 'w': opt.warm = atof(optarg); break;
        case 'm': opt.max_mb = atof(optarg); break;
        case 'i': opt.pids = optarg; break;
        case 'S': opt.samples = optarg; break;
        default: return 2;
    }
    if (!opt.port || !opt.frame_file) { fprintf(stderr, "rawload: --port and --frame are needed\n"); return 2; }
    read_frame();
    if (!strcmp(opt.mode, "produce")) return load(0);
    if (!strcmp(opt.mode, "fetch")) return load(1);
    if (!strcmp(opt.mode, "latency")) return latency();
    fprintf(stderr, "rawload: unknown mode %s\n", opt.mode);
    return 2;
}
