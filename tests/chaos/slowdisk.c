/* A disk that syncs a given number of bytes a second, for real processes.
 *
 * Preloaded (LD_PRELOAD) into the broker. Writes below SLOWDISK_DIR go to the page cache as ever and are counted; a sync
 * takes as long as a disk of SLOWDISK_BYTES_PER_SECOND needs for what was written since the last one, and syncs wait for
 * each other. As in the kernel, a writer that is more than SLOWDISK_DIRTY_MAX ahead is stopped in its write until the disk
 * has caught up. The counts so far are in SLOWDISK_REPORT: bytes written, bytes synced, milliseconds that writers
 * were stopped.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_size;
static double rate;
static int64_t dirty_max, dirty, written, synced, stopped_ms;
static int report = -1;
static signed char ours[DESCRIPTORS_MAX]; /* 0: not looked at, 1: a file below our directory, -1: not */

__attribute__((constructor)) static void prepare(void) {
    const char *speed = getenv("SLOWDISK_BYTES_PER_SECOND"), *most = getenv("SLOWDISK_DIRTY_MAX");
    const char *path = getenv("SLOWDISK_REPORT");
    root = getenv("SLOWDISK_DIR");
    if (!root || !speed || !most || !path) return;
    root_size = strlen(root);
    rate = atof(speed);
    dirty_max = atoll(most);
    report = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
}

static void tell(void) {
    char line[120];
    int size = snprintf(line, sizeof line, "%20lld %20lld %20lld\n", (long long)__atomic_load_n(&written, __ATOMIC_RELAXED),
                        (long long)synced, (long long)__atomic_load_n(&stopped_ms, __ATOMIC_RELAXED));
    if (report >= 0) syscall(SYS_pwrite64, report, line, size, (off_t)0);
}

static int counts(int fd) {
    if (rate <= 0 || fd < 0 || fd >= DESCRIPTORS_MAX) return 0;
    if (!ours[fd]) {
        char link[64], path[4096];
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t size = readlink(link, path, sizeof path - 1);
        path[size < 0 ? 0 : size] = 0;
        ours[fd] = strncmp(path, root, root_size) == 0 ? 1 : -1;
    }
    return ours[fd] > 0;
}

static void wait_ms(int64_t ms) {
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

static void wrote(int fd, ssize_t size) {
    if (size <= 0 || !counts(fd)) return;
    __atomic_add_fetch(&written, size, __ATOMIC_RELAXED);
    int64_t behind = __atomic_add_fetch(&dirty, size, __ATOMIC_RELAXED);
    while (behind > dirty_max) { /* balance_dirty_pages */
        wait_ms(10);
        __atomic_add_fetch(&stopped_ms, 10, __ATOMIC_RELAXED);
        if (!pthread_mutex_trylock(&disk)) { /* nobody syncs: the kernel writes back by itself */
            __atomic_sub_fetch(&dirty, (int64_t)(rate / 100), __ATOMIC_RELAXED);
            pthread_mutex_unlock(&disk);
        }
        behind = __atomic_load_n(&dirty, __ATOMIC_RELAXED);
    }
}

static void drain(void) {
    if (rate <= 0) return;
    pthread_mutex_lock(&disk);
    int64_t mine = __atomic_load_n(&dirty, __ATOMIC_RELAXED), done = 0;
    while (done < mine) { /* in pieces, so that a stopped writer goes on as soon as it may */
        int64_t piece = (int64_t)(rate / 100);
        if (piece > mine - done) piece = mine - done;
        wait_ms((int64_t)(piece * 1000 / rate) + (piece > 0 && piece * 1000 < rate));
        __atomic_sub_fetch(&dirty, piece, __ATOMIC_RELAXED);
        done += piece;
    }
    synced += done;
    tell();
    pthread_mutex_unlock(&disk);
}

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS_MAX) ours[fd] = 0;
    return syscall(SYS_close, fd);
}

ssize_t write(int fd, const void *data, size_t size) {
    ssize_t done = syscall(SYS_write, fd, data, size);
    wrote(fd, done);
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    ssize_t done = syscall(SYS_pwrite64, fd, data, size, at);
    wrote(fd, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

ssize_t pwritev2(int fd, const struct iovec *data, int pieces, off_t at, int flags) {
    ssize_t done = syscall(SYS_pwritev2, fd, data, pieces, at, 0, flags);
    wrote(fd, done);
    return done;
}

ssize_t pwritev64v2(int fd, const struct iovec *data, int pieces, off64_t at, int flags) {
    return pwritev2(fd, data, pieces, at, flags);
}

ssize_t pwritev(int fd, const struct iovec *data, int pieces, off_t at) { return pwritev2(fd, data, pieces, at, 0); }

ssize_t pwritev64(int fd, const struct iovec *data, int pieces, off64_t at) { return pwritev2(fd, data, pieces, at, 0); }

int fsync(int fd) {
    if (counts(fd)) drain();
    return syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    if (counts(fd)) drain();
    return syscall(SYS_fdatasync, fd);
}

int syncfs(int fd) {
    drain();
    return syscall(SYS_syncfs, fd);
}
