/* Stands between a program and the system (LD_PRELOAD): FAULT_CALL fails with FAULT_ERRNO; pwrite writes at
   most FAULT_SHORT bytes, and every FAULT_EINTR-th is interrupted. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int fails(const char* call) {
  const char* wanted = getenv("FAULT_CALL");
  if (!wanted || strcmp(wanted, call) != 0) return 0;
  errno = atoi(getenv("FAULT_ERRNO"));
  return 1;
}

static ssize_t shortened(const char* name, int fd, const void* data, size_t size, off_t offset) {
  static int calls;
  const char* every = getenv("FAULT_EINTR");
  const char* most = getenv("FAULT_SHORT");
  if (fails("pwrite")) return -1;
  if (every && ++calls % atoi(every) == 0) {
    errno = EINTR;
    return -1;
  }
  if (most && size > (size_t)atoi(most)) size = (size_t)atoi(most);
  ssize_t (*real)(int, const void*, size_t, off_t) = dlsym(RTLD_NEXT, name);
  return real(fd, data, size, offset);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return shortened("pwrite", fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off_t offset) {
  return shortened("pwrite64", fd, data, size, offset);
}

int fsync(int fd) {
  if (fails("fsync")) return -1;
  int (*real)(int) = dlsym(RTLD_NEXT, "fsync");
  return real(fd);
}

int rename(const char* from, const char* to) {
  if (fails("rename")) return -1;
  int (*real)(const char*, const char*) = dlsym(RTLD_NEXT, "rename");
  return real(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (fails("linkat")) return -1;
  int (*real)(int, const char*, int, const char*, int) = dlsym(RTLD_NEXT, "linkat");
  return real(from_folder, from, to_folder, to, flags);
}
