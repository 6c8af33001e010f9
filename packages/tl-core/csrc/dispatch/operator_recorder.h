// The layer `observe`: notes every operator that a thread calls while a recording is on. It is installed at
// its first use.
#pragma once

#include "base/event_log.h"
#include "dispatch/operator.h"

namespace tl {

// Starts a recording, with the operators of the calling thread in it.
void record_operators(const RecordingOptions& options);  // raises RuntimeError if one is on
EventLogs stop_recording_operators();
// Switches the calling thread's operators, or those of all, on or off while a recording goes on.
void record_own_operators(bool on);

// Whether the calling thread takes part: its operators are recorded, or its Python calls are.
bool is_recorded_thread();

// "aten::add" of "add.Tensor"; the overload is "Tensor".
std::string recorded_name(const Operator& op);
std::string overload_name(const Operator& op);

// An event of the backward with the gradients it is given; nothing while the thread is not recorded.
OpenEvent begin_node(EventKind kind, std::string_view name, int64_t sequence, const TlValue* args, int n);

}  // namespace tl
