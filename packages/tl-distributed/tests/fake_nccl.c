/* NCCL and NVIDIA's driver for tests: ranks are threads of one process, memory of devices is that of the
 * host.
 *
 * A collective is done when all ranks have called it, so it is under way before, as on a device. A stream is
 * a list of what it has to do, an event the length of that list. Each third call says that it goes on, as a
 * communicator without blocking may. `fake_log` tells the calls of a rank, `fake_break` makes its
 * communicator report an error. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRanks = 8, kSteps = 512, kOk = 0, kInternal = 3, kInvalid = 4, kUsage = 5, kRemote = 6, kGoesOn = 7 };
enum { kFloat = 7, kLong = 4, kByte = 1 };
enum { kReduceAll, kReduceOne, kSpread, kGather, kReduceParts, kSendOne, kReceiveOne };

typedef struct {
  char internal[128];
} Id;
typedef struct {
  size_t size;
  unsigned magic, version;
  int blocking;
} Config;
typedef struct {
  int kind, type, op, peer, is_done;
  const char* from;
  char* to;
  size_t count;
} Step;
typedef struct {
  Step* steps[kSteps];
  int count;
} Stream;
typedef struct {
  char key[128];
  int size, here, rounds[kRanks];
  Step* calls[kRanks][kSteps];
  Step* messages[kRanks][kSteps];
  int message_count[kRanks];
} World;
typedef struct {
  World* world;
  int rank, error, calls, is_blocking, is_aborted;
  char log[8192];
} Comm;
typedef struct {
  Stream* stream;
  int count;
} Event;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static World* worlds[64];
static Comm* comms[256];
static int world_count, comm_count, id_count;
static __thread int group_depth;
static Stream default_stream;

static size_t size_of(int type) { return type == kFloat ? 4 : type == kLong ? 8 : 1; }

static void note(Comm* comm, const char* text) {
  strncat(comm->log, text, sizeof comm->log - strlen(comm->log) - 2);
  strcat(comm->log, " ");
}

static double combine(double a, double b, int op) {
  return op == 1 ? a * b : op == 2 ? (a > b ? a : b) : op == 3 ? (a < b ? a : b) : a + b;
}

static double value(const char* at, int type, size_t i) {
  return type == kFloat  ? ((const float*)at)[i]
         : type == kLong ? (double)((const int64_t*)at)[i]
                         : (double)((const uint8_t*)at)[i];
}

static void store(char* at, int type, size_t i, double x) {
  if (type == kFloat)
    ((float*)at)[i] = (float)x;
  else if (type == kLong)
    ((int64_t*)at)[i] = (int64_t)x;
  else
    ((uint8_t*)at)[i] = (uint8_t)x;
}

static void reduce(World* world, int round, char* to, size_t from, size_t count) {
  Step* first = world->calls[0][round];
  for (size_t i = 0; i < count; ++i) {
    double x = value(first->from, first->type, from + i);
    for (int r = 1; r < world->size; ++r)
      x = combine(x, value(world->calls[r][round]->from, first->type, from + i), first->op);
    store(to, first->type, i, first->op == 4 ? x / world->size : x);
  }
}

/* All ranks have called: results go into copies first, because a rank may read and write the same memory. */
static void finish(World* world, int round) {
  char* results[kRanks] = {0};
  size_t sizes[kRanks];
  for (int r = 0; r < world->size; ++r) {
    Step* step = world->calls[r][round];
    size_t bytes = step->count * size_of(step->type);
    sizes[r] = step->kind == kGather ? bytes * world->size : bytes;
    results[r] = malloc(sizes[r] + 1);
    if (step->kind == kReduceAll || step->kind == kReduceOne)
      reduce(world, round, results[r], 0, step->count);
    if (step->kind == kReduceParts) reduce(world, round, results[r], r * step->count, step->count);
    if (step->kind == kSpread) memcpy(results[r], world->calls[step->peer][round]->from, bytes);
    if (step->kind == kGather)
      for (int k = 0; k < world->size; ++k)
        memcpy(results[r] + k * bytes, world->calls[k][round]->from, bytes);
  }
  for (int r = 0; r < world->size; ++r) {
    Step* step = world->calls[r][round];
    if (step->kind != kReduceOne || r == step->peer) memcpy(step->to, results[r], sizes[r]);
    step->is_done = 1;
    free(results[r]);
  }
}

static void match(World* world, int rank, Step* mine) {
  int other = mine->kind == kSendOne ? kReceiveOne : kSendOne;
  for (int i = 0; i < world->message_count[mine->peer]; ++i) {
    Step* theirs = world->messages[mine->peer][i];
    if (theirs == mine || theirs->is_done || theirs->kind != other || theirs->peer != rank) continue;
    Step* sender = mine->kind == kSendOne ? mine : theirs;
    Step* receiver = mine->kind == kSendOne ? theirs : mine;
    memcpy(receiver->to, sender->from, sender->count);
    mine->is_done = theirs->is_done = 1;
    return;
  }
}

static int put(const char* name, Comm* comm, Stream* stream, Step given) {
  if (!comm || !stream || comm->is_aborted) return kInvalid;
  pthread_mutex_lock(&mutex);
  note(comm, name);
  World* world = comm->world;
  Step* step = malloc(sizeof *step);
  *step = given;
  stream->steps[stream->count++] = step;
  if (step->kind == kSendOne || step->kind == kReceiveOne) {
    world->messages[comm->rank][world->message_count[comm->rank]++] = step;
    match(world, comm->rank, step);
  } else {
    int round = world->rounds[comm->rank]++, arrived = 0;
    world->calls[comm->rank][round] = step;
    for (int r = 0; r < world->size; ++r) arrived += world->rounds[r] > round;
    if (arrived == world->size) finish(world, round);
  }
  int goes_on = group_depth == 0 && ++comm->calls % 3 == 0;
  pthread_mutex_unlock(&mutex);
  return goes_on ? kGoesOn : kOk;
}

int ncclGetVersion(int* version) {
  *version = 22105;
  return kOk;
}
const char* ncclGetErrorString(int result) {
  return result == kRemote    ? "remote process exited"
         : result == kInvalid ? "invalid argument"
                              : "internal error";
}
const char* ncclGetLastError(Comm* comm) { return comm && comm->error ? "socket closed" : ""; }
int ncclGetUniqueId(Id* id) {
  memset(id, 0, sizeof *id);
  snprintf(id->internal, sizeof id->internal, "fake %d", ++id_count);
  return kOk;
}
int ncclCommInitRankConfig(Comm** comm, int size, Id id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->size < 20 || config->blocking) return kInvalid;
  pthread_mutex_lock(&mutex);
  World* world = NULL;
  for (int i = 0; i < world_count; ++i)
    if (!memcmp(worlds[i]->key, id.internal, 128)) world = worlds[i];
  if (!world) {
    world = worlds[world_count++] = calloc(1, sizeof *world);
    memcpy(world->key, id.internal, 128);
    world->size = size;
  }
  ++world->here;
  *comm = comms[comm_count++] = calloc(1, sizeof **comm);
  (*comm)->world = world;
  (*comm)->rank = rank;
  note(*comm, "init");
  pthread_mutex_unlock(&mutex);
  return kGoesOn;
}
int ncclCommGetAsyncError(Comm* comm, int* state) {
  *state = comm->world->here < comm->world->size ? kGoesOn : comm->error;
  return kOk;
}
int ncclCommFinalize(Comm* comm) {
  note(comm, "finalize");
  return kOk;
}
int ncclCommDestroy(Comm* comm) {
  note(comm, "destroy");
  return kOk;
}
int ncclCommAbort(Comm* comm) {
  note(comm, "abort");
  comm->is_aborted = 1;
  return kOk;
}
int ncclAllReduce(const void* from, void* to, size_t count, int type, int op, Comm* comm, Stream* stream) {
  return put("all_reduce", comm, stream, (Step){kReduceAll, type, op, 0, 0, from, to, count});
}
int ncclReduce(const void* from, void* to, size_t count, int type, int op, int root, Comm* comm,
               Stream* stream) {
  return put("reduce", comm, stream, (Step){kReduceOne, type, op, root, 0, from, to, count});
}
int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, Comm* comm, Stream* stream) {
  return put("broadcast", comm, stream, (Step){kSpread, type, 0, root, 0, from, to, count});
}
int ncclAllGather(const void* from, void* to, size_t count, int type, Comm* comm, Stream* stream) {
  return put("all_gather", comm, stream, (Step){kGather, type, 0, 0, 0, from, to, count});
}
int ncclReduceScatter(const void* from, void* to, size_t count, int type, int op, Comm* comm,
                      Stream* stream) {
  return put("reduce_scatter", comm, stream, (Step){kReduceParts, type, op, 0, 0, from, to, count});
}
int ncclSend(const void* from, size_t count, int type, int peer, Comm* comm, Stream* stream) {
  return put("send", comm, stream, (Step){kSendOne, type, 0, peer, 0, from, NULL, count});
}
int ncclRecv(void* to, size_t count, int type, int peer, Comm* comm, Stream* stream) {
  return put("recv", comm, stream, (Step){kReceiveOne, type, 0, peer, 0, NULL, to, count});
}
int ncclGroupStart(void) {
  ++group_depth;
  return kOk;
}
int ncclGroupEnd(void) { return --group_depth < 0 ? kUsage : kOk; }

int fake_break(int number, int error) {
  comms[number]->error = error;
  return 0;
}
int fake_count(void) { return comm_count; }
int fake_rank(int number) { return comms[number]->rank; }
const char* fake_log(int number) { return comms[number]->log; }

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGet(int* device, int number) {
  *device = number;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &worlds[device];
  return 0;
}
int cuCtxSetCurrent(void* context) { return context ? 0 : 201; }
/* Memory of the host for the test are addresses that it names. */
static uint64_t host_address;
void fake_host(uint64_t address) { host_address = address; }
int cuPointerGetAttribute(void* into, int attribute, uint64_t address) {
  if (address == host_address) return 1;
  *(int*)into = attribute == 2 ? 2 : 0;
  return 0;
}
int cuStreamCreate(Stream** stream, unsigned flags) {
  *stream = calloc(1, sizeof **stream);
  return flags == 1 ? 0 : 1;
}
int cuStreamDestroy_v2(Stream* stream) { return stream ? 0 : 1; }
int cuStreamWaitEvent(Stream* stream, Event* event, unsigned flags) {
  return stream && event && !flags ? 0 : 1;
}
int cuEventCreate(Event** event, unsigned flags) {
  *event = calloc(1, sizeof **event);
  return flags == 2 ? 0 : 1;
}
int cuEventRecord(Event* event, Stream* stream) {
  event->stream = stream ? stream : &default_stream;
  event->count = event->stream->count;
  return 0;
}
int cuEventQuery(Event* event) {
  int is_done = 1;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < event->count; ++i) is_done &= event->stream->steps[i]->is_done;
  pthread_mutex_unlock(&mutex);
  return is_done ? 0 : 600;
}
int cuEventDestroy_v2(Event* event) {
  free(event);
  return 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
  *address = (uint64_t)malloc(size);
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  free((void*)address);
  return 0;
}
