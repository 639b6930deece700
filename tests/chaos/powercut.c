/* A journal of everything a process does to the files under one directory, for power cuts on real processes.
 *
 * Preloaded (LD_PRELOAD) into the broker. Each change below POWERCUT_DIR, and the beginning and end of each sync, is
 * appended to POWERCUT_JOURNAL in the order in which it happened (one mutex; the change first, then its line). The
 * test kills the process and powercut.py replays the journal to know what a disk would still hold: only what a
 * completed sync covered is certain. Nothing is lost by killing between a change and its line: an unsynced change may
 * vanish anyway, and a sync whose end was not written has not returned to its caller.
 *
 * POWERCUT_IGNORE_SYNC=1 makes every sync a lie: it returns 0 at once and is not journalled.
 * While the file named by POWERCUT_FULL exists the disk is full: the first write is cut short, then ENOSPC.
 *
 * Not seen: memory maps, duplicated descriptors, io_uring. powercut.py compares its replay with the real files, so that
 * a program that uses them is found out. 64-bit Linux only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 65536
#define PIECES_MAX 1100

struct header { /* little-endian, as powercut.py reads it: <cBHIQQ */
    char operation;
    uint8_t flag;
    uint16_t path_size;
    uint32_t data_size;
    uint64_t inode;
    uint64_t number;
} __attribute__((packed));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t tracked[DESCRIPTORS_MAX]; /* inode behind a descriptor; 0: not ours */
static int journal = -1;
static const char *root;
static size_t root_size;
static int ignore_sync;
static const char *full_sign;
static int was_full;
static uint64_t syncs;

__attribute__((constructor)) static void prepare(void) {
    const char *path = getenv("POWERCUT_JOURNAL"), *lie = getenv("POWERCUT_IGNORE_SYNC");
    root = getenv("POWERCUT_DIR");
    if (!path || !root) return;
    root_size = strlen(root);
    ignore_sync = lie && *lie == '1';
    full_sign = getenv("POWERCUT_FULL");
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    /* out of the way of programs that count their descriptors */
    journal = fd < 0 ? -1 : syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 60000);
    if (journal < 0) journal = fd;
    else syscall(SYS_close, fd);
}

static void note(char operation, int flag, uint64_t inode, uint64_t number, const char *path,
                 const struct iovec *data, int pieces, size_t data_size) {
    struct header header = {operation, (uint8_t)flag, path ? (uint16_t)strlen(path) : 0, (uint32_t)data_size, inode, number};
    struct iovec vector[PIECES_MAX + 2];
    int used = 0;
    vector[used++] = (struct iovec){&header, sizeof header};
    if (path) vector[used++] = (struct iovec){(void *)path, header.path_size};
    for (int at = 0; at < pieces && data_size; at++) { /* a short write: only what was written */
        size_t size = data[at].iov_len < data_size ? data[at].iov_len : data_size;
        vector[used++] = (struct iovec){data[at].iov_base, size};
        data_size -= size;
    }
    int saved = errno;
    if (syscall(SYS_writev, journal, vector, used) < 0) _exit(99); /* a journal with a gap would prove nothing */
    errno = saved;
}

/* The absolute form of a path, if it lies below our directory. */
static int ours(int directory, const char *path, char *full) {
    if (journal < 0 || !path) return 0;
    if (*path == '/') {
        if (snprintf(full, PATH_MAX, "%s", path) >= PATH_MAX) return 0;
    } else {
        char base[PATH_MAX], link[64];
        ssize_t size = -1;
        if (directory == AT_FDCWD) {
            if (getcwd(base, sizeof base)) size = strlen(base);
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
            size = readlink(link, base, sizeof base - 1);
        }
        if (size < 0) return 0;
        base[size] = 0;
        if (snprintf(full, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return 0;
    }
    return strncmp(full, root, root_size) == 0 && (full[root_size] == '/' || full[root_size] == 0);
}

static int disk_full(void);

static uint64_t inode_of(int fd) { return journal >= 0 && fd >= 0 && fd < DESCRIPTORS_MAX ? tracked[fd] : 0; }

static int open_file(int directory, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    if (!ours(directory, path, full)) {
        int fd = syscall(SYS_openat, directory, path, flags, mode);
        if (fd >= 0 && fd < DESCRIPTORS_MAX) tracked[fd] = 0;
        return fd;
    }
    pthread_mutex_lock(&lock);
    struct stat status;
    int existed = fstatat(directory, path, &status, 0) == 0;
    if (!existed && (flags & O_CREAT) && disk_full()) {
        pthread_mutex_unlock(&lock);
        errno = ENOSPC;
        return -1;
    }
    int fd = syscall(SYS_openat, directory, path, flags, mode);
    if (fd >= 0 && fd < DESCRIPTORS_MAX && fstat(fd, &status) == 0) {
        tracked[fd] = status.st_ino;
        int changed = (existed ? 0 : 1) | ((flags & O_TRUNC) ? 2 : 0);
        note('O', changed, status.st_ino, 0, full, NULL, 0, 0);
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE_OF(flags, mode)                       \
    mode_t mode = 0;                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {         \
        va_list rest;                              \
        va_start(rest, flags);                     \
        mode = va_arg(rest, mode_t);               \
        va_end(rest);                              \
    }

int open(const char *path, int flags, ...) { MODE_OF(flags, mode) return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags, mode) return open_file(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE_OF(flags, mode) return open_file(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE_OF(flags, mode) return open_file(at, path, flags, mode); }
int creat(const char *path, mode_t mode) { return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
    if (fd >= 0 && fd < DESCRIPTORS_MAX) tracked[fd] = 0;
    return syscall(SYS_close, fd);
}

/* Whether the disk is full just now. Called with the lock held. */
static int disk_full(void) { return full_sign && syscall(SYS_faccessat, AT_FDCWD, full_sign, F_OK) == 0; }

/* A write at a position, or (position < 0) at the descriptor's own. */
static ssize_t write_pieces(int fd, const struct iovec *vector, int pieces, off_t position) {
    uint64_t inode = inode_of(fd);
    struct iovec half;
    if (inode) {
        pthread_mutex_lock(&lock);
        int is_full = disk_full();
        if (is_full && (was_full || vector[0].iov_len < 2)) {
            pthread_mutex_unlock(&lock);
            errno = ENOSPC;
            return -1;
        }
        if (is_full) { /* the last room: half of the first piece */
            half = (struct iovec){vector[0].iov_base, vector[0].iov_len / 2};
            vector = &half;
            pieces = 1;
        }
        was_full = is_full;
    }
    ssize_t written = position < 0 ? syscall(SYS_writev, fd, vector, pieces)
                                   : syscall(SYS_pwritev, fd, vector, pieces, position, 0L);
    if (inode) {
        if (written > 0) {
            off_t start = position < 0 ? lseek(fd, 0, SEEK_CUR) - written : position;
            note('W', 0, inode, start, NULL, vector, pieces, written);
        }
        pthread_mutex_unlock(&lock);
    }
    return written;
}

ssize_t write(int fd, const void *data, size_t size) {
    if (!inode_of(fd)) return syscall(SYS_write, fd, data, size);
    struct iovec one = {(void *)data, size};
    return write_pieces(fd, &one, 1, -1);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t position) {
    struct iovec one = {(void *)data, size};
    return write_pieces(fd, &one, 1, position);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t position) { return pwrite(fd, data, size, position); }
ssize_t writev(int fd, const struct iovec *vector, int pieces) { return write_pieces(fd, vector, pieces, -1); }
ssize_t pwritev(int fd, const struct iovec *vector, int pieces, off_t position) {
    return write_pieces(fd, vector, pieces, position);
}
ssize_t pwritev64(int fd, const struct iovec *vector, int pieces, off_t position) {
    return write_pieces(fd, vector, pieces, position);
}
ssize_t pwritev2(int fd, const struct iovec *vector, int pieces, off_t position, int flags) {
    if (!inode_of(fd)) return syscall(SYS_pwritev2, fd, vector, pieces, position, 0L, flags);
    return write_pieces(fd, vector, pieces, position);
}
ssize_t pwritev64v2(int fd, const struct iovec *vector, int pieces, off_t position, int flags) {
    return pwritev2(fd, vector, pieces, position, flags);
}

int ftruncate(int fd, off_t size) {
    uint64_t inode = inode_of(fd);
    if (!inode) return syscall(SYS_ftruncate, fd, size);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_ftruncate, fd, size);
    if (result == 0) note('T', 0, inode, size, NULL, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }
int truncate(const char *path, off_t size) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    int result = ftruncate(fd, size);
    close(fd);
    return result;
}
int truncate64(const char *path, off_t size) { return truncate(path, size); }
int posix_fallocate64(int fd, off_t start, off_t size) { /* may only grow a file; the new bytes are zero */
    struct stat status;
    if (fstat(fd, &status) != 0) return errno;
    return status.st_size >= start + size || ftruncate(fd, start + size) == 0 ? 0 : errno;
}
int posix_fallocate(int fd, off_t start, off_t size) { return posix_fallocate64(fd, start, size); }

int renameat(int from_at, const char *from, int to_at, const char *to) {
    char source[PATH_MAX], target[PATH_MAX];
    if (!ours(from_at, from, source) || !ours(to_at, to, target))
        return syscall(SYS_renameat2, from_at, from, to_at, to, 0);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_renameat2, from_at, from, to_at, to, 0);
    struct iovec name = {target, strlen(target)};
    if (result == 0) note('R', 0, 0, 0, source, &name, 1, name.iov_len);
    pthread_mutex_unlock(&lock);
    return result;
}
int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int at, const char *path, int flags) {
    char full[PATH_MAX];
    if (!ours(at, path, full)) return syscall(SYS_unlinkat, at, path, flags);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_unlinkat, at, path, flags);
    if (result == 0) note('U', 0, 0, 0, full, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int at, const char *path, mode_t mode) {
    char full[PATH_MAX];
    if (!ours(at, path, full)) return syscall(SYS_mkdirat, at, path, mode);
    pthread_mutex_lock(&lock);
    int result = syscall(SYS_mkdirat, at, path, mode);
    if (result == 0) note('M', 0, 0, 0, full, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

/* A sync covers what was written before it began, and counts once it has returned. Inode 0: the whole file system. */
static int sync_with(long number, int fd, uint64_t inode) {
    if (ignore_sync) return 0;
    pthread_mutex_lock(&lock);
    uint64_t token = ++syncs;
    note('B', 0, inode, token, NULL, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    int result = number == SYS_sync ? (syscall(SYS_sync), 0) : (int)syscall(number, fd);
    if (result == 0) {
        pthread_mutex_lock(&lock);
        note('E', 0, inode, token, NULL, NULL, 0, 0);
        pthread_mutex_unlock(&lock);
    }
    return result;
}

int fsync(int fd) { return inode_of(fd) ? sync_with(SYS_fsync, fd, inode_of(fd)) : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return inode_of(fd) ? sync_with(SYS_fdatasync, fd, inode_of(fd)) : (int)syscall(SYS_fdatasync, fd); }
int syncfs(int fd) { return journal >= 0 ? sync_with(SYS_syncfs, fd, 0) : (int)syscall(SYS_syncfs, fd); }
void sync(void) {
    if (journal >= 0) sync_with(SYS_sync, -1, 0);
    else syscall(SYS_sync);
}
