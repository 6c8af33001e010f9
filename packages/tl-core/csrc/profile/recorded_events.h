// The events of a recording in one order, with what contains what.
#pragma once

#include <string>

#include "base/event_log.h"

namespace tl {

struct PlacedEvent {
  const Event* event;
  const EventLog* log;
  int64_t end;     // the recording's end if it was still running
  int64_t parent;  // index of the event of the same thread that contains it, -1: none
};

class Recording {
 public:
  Recording(EventLogs logs, int64_t start, int64_t end);
  const std::vector<PlacedEvent>& events() const { return events_; }
  int64_t start() const { return start_; }
  int64_t end() const { return end_; }
  uint64_t forgotten() const;  // events that made room for later ones

 private:
  EventLogs logs_;
  int64_t start_, end_;
  std::vector<PlacedEvent> events_;
};

// As a reader would call it: "aten::add", "train.py(12): step".
std::string event_name(const Event& event);
// What the language binding lends: the name of a call, whose `what` only the binding can read.
void set_call_name(std::string (*name)(const Event& event));
const char* dtype_in_traces(int dtype);  // "float", "long int"

}  // namespace tl
