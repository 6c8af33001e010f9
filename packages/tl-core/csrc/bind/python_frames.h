/* Where this thread's Python frames stand, innermost first: addresses of instructions, read without
 * references and without cost. The frames stand still while the thread is in C, with the GIL or without. */
#ifndef TL_BIND_FRAMES_H
#define TL_BIND_FRAMES_H

#ifdef __cplusplus
extern "C" {
#endif

/* How many of the `n` places were filled; 0 where the interpreter's frames cannot be read. */
int tl_python_frames(const void** out, int n);

/* The same with the code object that an instruction is of; borrowed. */
typedef struct TlFrame {
  const void* code;
  const void* instruction;
} TlFrame;
int tl_python_stack(TlFrame* out, int n);

/* Set by whoever gives up the GIL and goes on to call operators. */
extern __thread int tl_without_gil __attribute__((tls_model("initial-exec")));

#ifdef __cplusplus
}
#endif
#endif
