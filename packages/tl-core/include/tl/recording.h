/* What threads do, for profilers: a small table in the capsule `tl_core._C.recording_v1`. */
#ifndef TL_RECORDING_H
#define TL_RECORDING_H

#include "tl/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TL_RECORDING_CAPSULE "tl_core._C.recording_v1"

enum { TL_EVENT_NODE = 1, TL_EVENT_EVALUATION = 2, TL_EVENT_RANGE = 3 };

typedef struct TlOpenEvent {
  void* event;    /* NULL: nothing is recorded */
  uint64_t block; /* where it lies: the core's */
} TlOpenEvent;

/* Nothing is noted unless the thread's operators are: bit TL_LAYER_OBSERVE of `thread_included`. An event
 * ends on the thread that began it. */
typedef struct TlRecording {
  size_t struct_size;
  uint32_t major, minor;

  void (*begin)(int kind, const char* name, int64_t sequence, const TlValue* args, int n_args,
                TlOpenEvent* out); /* sequence: of the node; -1: none */
  void (*end)(const TlOpenEvent* event);
  /* Who says which number the next node of the thread's graph gets: it links the backward to its calls. */
  void (*set_sequence_source)(int64_t (*next)(void));
} TlRecording;

#ifdef __cplusplus
}
#endif
#endif /* TL_RECORDING_H */
