// Where in the Python program a node was made and a tensor was changed: for the text of errors.
#pragma once

#include "node.h"
#include "thread.h"

namespace tl::autograd {

extern int (*g_frames)(const void** out, int n);  // the bridge's

// Where this thread's program stands, innermost frame first; the rest is NULL. A backward runs without the
// GIL, and its own line says nothing.
inline void note_frames(const void** out, int n) {
  for (int i = thread_data().run ? 0 : g_frames(out, n); i < n; ++i) out[i] = nullptr;
}

// What is appended to an error; empty where nothing is known. They take the GIL.
std::string change_of(const TlTensor* t, uint32_t version);  // the first write after that version
// The line of frames that were noted.
std::string line_of(const void* const* frames, int n);
// Adds the node's name and where it was made to the pending error, unless Python code raised it.
void name_failing(const Node& node);

}  // namespace tl::autograd
