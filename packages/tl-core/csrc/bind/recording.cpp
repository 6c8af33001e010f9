// Recordings for Python: starts and stops the sources, reads events as tuples, hands out the memory history.
#include "bind/recording.h"

#include <pybind11/stl.h>

#include <map>

#include "base/memory_history.h"
#include "base/source_location.h"
#include "bind/call_stacks.h"
#include "bind/error.h"
#include "bind/event_columns.h"
#include "bind/python_tracer.h"
#include "bind/types.h"
#include "dispatch/operator_recorder.h"
#include "dispatch/recorded_values.h"
#include "profile/chrome_trace.h"
#include "profile/event_sums.h"
#include "profile/recorded_events.h"
#include "tl/recording.h"

namespace py = pybind11;

namespace tl::bind {

namespace {
int64_t g_started = 0;

// ---- values -----------------------------------------------------------------------------------------------
py::tuple tuple_of(IntSpan s) {
  py::tuple t(s.size());
  for (size_t i = 0; i < s.size(); ++i) t[i] = s[i];
  return t;
}

// ("tensor", impl, memory, dtype, device, layout, sizes, strides)
py::object tensor_of(RecordedValues& from, const RecordedValues::Head& head) {
  const RecordedTensor t = from.tensor(head);
  return py::make_tuple("tensor", reinterpret_cast<uintptr_t>(t.impl), reinterpret_cast<uintptr_t>(t.memory),
                        py::reinterpret_borrow<py::object>(dtype_object(t.dtype)),
                        py::reinterpret_steal<py::object>(device_object(t.device)),
                        static_cast<int>(t.layout), tuple_of(t.sizes), tuple_of(t.strides));
}

py::object next_value(RecordedValues& from);

template <class F>
py::list list_of(uint32_t n, F&& next) {
  py::list list(n);
  for (uint32_t i = 0; i < n; ++i) list[i] = next();
  return list;
}

py::object list_value(RecordedValues& from, const RecordedValues::Head& head) {
  switch (head.tag) {
    case TL_INT_LIST:
      return list_of(head.len, [&] { return py::int_(from.integer()); });
    case TL_FLOAT_LIST:
      return list_of(head.len, [&] { return py::float_(from.number()); });
    case TL_BOOL_LIST: {
      const std::string_view bytes = from.text(head);
      uint32_t i = 0;
      return list_of(head.len, [&] { return py::bool_(bytes[i++] != 0); });
    }
    default:
      return list_of(head.len, [&] { return next_value(from); });
  }
}

// ("dtype", …) and the like for what is neither a number nor a text.
py::object named_value(RecordedValues& from, uint8_t tag) {
  const int64_t code = from.integer();
  switch (tag) {
    case TL_DTYPE:
      return py::reinterpret_borrow<py::object>(dtype_object(dtype_from_abi(code)));
    case TL_DEVICE:
      return py::reinterpret_steal<py::object>(device_object(device_from_abi(code)));
    default:
      return py::make_tuple("code", static_cast<int>(tag), code);
  }
}

py::object next_value(RecordedValues& from) {
  const RecordedValues::Head head = from.next_head();
  if (head.tag >= TL_BOOL_LIST) return list_value(from, head);
  switch (head.tag) {
    case TL_NONE:
      return py::none();
    case TL_BOOL:
      return py::bool_(from.integer() != 0);
    case TL_INT:
      return py::int_(from.integer());
    case TL_FLOAT:
      return py::float_(from.number());
    case TL_COMPLEX: {
      const double re = from.number(), im = from.number();
      return py::reinterpret_steal<py::object>(PyComplex_FromDoubles(re, im));
    }
    case TL_STRING:
      return py::str(std::string(from.text(head)));
    case TL_TENSOR:
      return tensor_of(from, head);
    default:
      return named_value(from, head.tag);
  }
}

py::object values_of(const Event& e) {
  if (e.kind == EventKind::Memory || !e.n_values) return py::none();
  RecordedValues from(e.values());
  return py::tuple(list_of(e.n_values, [&] { return next_value(from); }));
}

// ---- events -----------------------------------------------------------------------------------------------
// Names are made once: a recording has few operators and many events.
class Names {
 public:
  py::object of(const Event& e) {
    if (e.text_bytes) return py::str(event_name(e));
    if (e.kind == EventKind::Memory) return memory_;
    auto [it, fresh] = known_.try_emplace({e.what, e.kind == EventKind::Call ? e.number : 0});
    if (fresh) it->second = py::str(event_name(e));
    return it->second;
  }
  py::object overload(const Event& e) {
    if (e.kind != EventKind::Operator) return empty_;
    auto [it, fresh] = overloads_.try_emplace(e.what);
    if (fresh) it->second = py::str(overload_name(*static_cast<const Operator*>(e.what)));
    return it->second;
  }

 private:
  std::map<std::pair<const void*, int64_t>, py::object> known_;
  std::map<const void*, py::object> overloads_;
  py::str memory_{"[memory]"}, empty_{""};
};

// (kind, name, overload, start, end, thread, system's thread, number, stack, parent, values, what, scope,
// total)
py::tuple event_of(const PlacedEvent& p, Names& names) {
  const Event& e = *p.event;
  const int64_t total = e.kind == EventKind::Memory ? *reinterpret_cast<const int64_t*>(e.values()) : 0;
  return py::make_tuple(static_cast<int>(e.kind), names.of(e), names.overload(e), e.start, p.end,
                        p.log->number, p.log->thread, e.number, e.stack, p.parent, values_of(e),
                        reinterpret_cast<uintptr_t>(e.what), e.scope, total);
}

py::list events_of(const Recording& r) {
  Names names;
  const auto& events = r.events();
  py::list list(events.size());
  for (size_t i = 0; i < events.size(); ++i) list[i] = event_of(events[i], names);
  return list;
}

py::tuple single_event(const Recording& r, size_t i) {
  if (i >= r.events().size()) throw py::index_error();
  Names names;
  return event_of(r.events()[i], names);
}

// [(first, count, time, own time, memory, own memory, operations)]
py::list sums_of(const Recording& r, bool modules, bool shapes, bool stacks, const py::object& operations) {
  SumOptions options{modules, shapes, stacks, {}};
  if (!operations.is_none()) options.operations = [&](size_t i) { return operations(i).cast<int64_t>(); };
  py::list list;
  for (const EventSum& s : sum_events(r, options))
    list.append(py::make_tuple(s.first, s.count, s.time, s.own_time, s.memory, s.own_memory, s.operations));
  return list;
}

py::dict columns_of(const Recording& r) {
  try {
    return py::reinterpret_steal<py::dict>(event_columns(r).release());
  } catch (const PythonError&) {
    throw py::error_already_set();
  }
}

py::list frames_of(uint32_t stack) {
  py::list list;
  for (const TlFrame& frame : stack_frames(stack)) {
    const SourceLine line = source_line(frame);
    list.append(py::make_tuple(py::reinterpret_borrow<py::object>(line.file), line.line,
                               py::reinterpret_borrow<py::object>(line.function)));
  }
  return list;
}

// ---- begun and ended --------------------------------------------------------------------------------------
void start(bool values, bool results, bool stacks, bool memory, bool operators, bool all_threads,
           uint64_t most_bytes, bool python) {
  RecordingOptions options;
  options.values = values;
  options.results = results;
  options.stacks = stacks;
  options.memory = memory;
  options.operators = operators;
  options.all_threads = all_threads;
  options.most_bytes = most_bytes;
  record_operators(options);
  g_started = event_clock();
  if (memory) watch_memory(kWatchedByRecording, true);
  if (python) start_tracer();
}

std::unique_ptr<Recording> stop() {
  stop_tracer();
  watch_memory(kWatchedByRecording, false);
  return std::make_unique<Recording>(stop_recording_operators(), g_started, event_clock());
}

void add_memory_history(py::module_& m) {
  m.def("_set_memory_history", [](bool on, bool events, int stacks, uint64_t max_entries) {
    set_memory_history({on, events, static_cast<uint8_t>(stacks), max_entries});
  });
  m.def("_memory_history_on", [] { return memory_history_options().on; });
  m.def("_memory_history", [] {
    const MemoryHistory h = memory_history();
    const auto list = [](const std::vector<MemoryEntry>& entries) {
      py::list out(entries.size());
      for (size_t i = 0; i < entries.size(); ++i) {
        const MemoryEntry& e = entries[i];
        out[i] =
            py::make_tuple(static_cast<int>(e.action), e.address, e.bytes, e.stack, e.origin, e.time, e.held);
      }
      return out;
    };
    return py::make_tuple(list(h.live), list(h.events), h.forgotten);
  });
  m.def("_set_out_of_memory_observer", [](py::object f) { set_out_of_memory_observer(f.ptr()); });
  m.def("_origin_scope", [](uint32_t origin) { return origin_of(origin).scope; });
}
}  // namespace

namespace {
static_assert(TL_EVENT_NODE == static_cast<int>(EventKind::Node));
static_assert(TL_EVENT_EVALUATION == static_cast<int>(EventKind::Evaluation));
static_assert(TL_EVENT_RANGE == static_cast<int>(EventKind::Range));

void table_begin(int kind, const char* name, int64_t sequence, const TlValue* args, int n_args,
                 TlOpenEvent* out) {
  const OpenEvent open = begin_node(static_cast<EventKind>(kind), name, sequence, args, n_args);
  *out = {open.event, open.block};
}
void table_end(const TlOpenEvent* event) { end_event({static_cast<Event*>(event->event), event->block}); }

const TlRecording kTable = {sizeof(TlRecording), TL_API_MAJOR, TL_API_MINOR,
                            table_begin,         table_end,    set_sequence_source};

void add_table(py::module_& m) {
  PyRef table = checked(PyCapsule_New(const_cast<TlRecording*>(&kTable), TL_RECORDING_CAPSULE, nullptr));
  checked(PyModule_AddObjectRef(m.ptr(), "recording_v1", table.get()));
}
}  // namespace

void add_recordings(py::module_& m) {
  m.attr("__path__") = py::list();  // so that a finder may serve names below it as modules
  add_table(m);
  py::class_<Recording>(m, "_Recording", "What threads did and when, from its start to its stop.")
      .def("events", events_of)
      .def("event", single_event)
      .def("sums", sums_of)
      .def("columns", columns_of)
      .def("__len__", [](const Recording& r) { return r.events().size(); })
      .def_property_readonly("start", &Recording::start)
      .def_property_readonly("end", &Recording::end)
      .def_property_readonly("forgotten", &Recording::forgotten)
      .def("write_chrome_trace", write_chrome_trace);
  m.def("_start_recording", start);
  m.def("_stop_recording", stop);
  m.def("_is_recording", is_recording);
  m.def("_record_own_operators", record_own_operators);
  m.def("_event_clock", event_clock);
  m.def("_stack_number", stack_number);
  m.def("_stack_frames", frames_of);
  add_memory_history(m);
  install_stack_source();
}

}  // namespace tl::bind
