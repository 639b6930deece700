/* A wall clock that is wrong: adds what a shared file says to every reading of real time.
 *
 * Built and preloaded by clocks.py. The file named by TAPELOG_CLOCK holds one signed 64 bit number, in nanoseconds; it is
 * mapped, so a change is seen by the next reading. Monotonic time is left as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *skew;
static int64_t none;
static int (*real_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("TAPELOG_CLOCK");
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    skew = mapped == MAP_FAILED ? &none : mapped;
}

static int wrong(struct timespec *at) {
    int64_t ns = at->tv_nsec + (skew == NULL ? 0 : *skew) % 1000000000;
    int64_t s = at->tv_sec + (skew == NULL ? 0 : *skew) / 1000000000;
    if (ns < 0) { ns += 1000000000; s -= 1; }
    if (ns >= 1000000000) { ns -= 1000000000; s += 1; }
    at->tv_sec = s;
    at->tv_nsec = ns;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *at) {
    if (real_gettime == NULL) real_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real_gettime(clock, at);
    return result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) ? wrong(at) : result;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    if (result == 0) {
        at->tv_sec = now.tv_sec;
        at->tv_usec = now.tv_nsec / 1000;
    }
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at != NULL) *at = now.tv_sec;
    return now.tv_sec;
}
