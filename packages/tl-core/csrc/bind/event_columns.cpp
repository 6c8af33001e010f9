// Columns of a recording: one typed array a field, names and stacks as indices into tables of texts.
#include "bind/event_columns.h"

#include <map>
#include <unordered_map>

#include "bind/error.h"

namespace py = pybind11;

namespace tl::bind {

namespace {
// Texts by number, each once.
class Names {
 public:
  uint32_t of(const Event& e) {
    if (e.text_bytes || e.kind == EventKind::Memory) return of(event_name(e));
    const auto [it, fresh] = known_.try_emplace(e.what, 0);
    if (fresh) it->second = of(event_name(e));
    return it->second;
  }
  py::list list() const {
    py::list texts(numbers_.size());
    for (const auto& [text, number] : numbers_)
      texts[number] = py::reinterpret_steal<py::object>(
          PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
    return texts;
  }

 private:
  uint32_t of(std::string text) {
    return numbers_.try_emplace(std::move(text), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  std::unordered_map<const void*, uint32_t> known_;
  std::map<std::string, uint32_t> numbers_;
};

template <class T>
py::bytes bytes_of(const std::vector<T>& column) {
  return py::bytes(reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T));
}

struct Columns {
  std::vector<double> start, bytes, address;
  std::vector<float> duration;
  std::vector<uint32_t> name, stack;
  std::vector<int32_t> parent;
  std::vector<uint8_t> kind;
  std::vector<uint16_t> thread;
};
}  // namespace

// One pass over the events in their order; a column is the bytes of a typed array, which readers view without
// a copy.
py::dict event_columns(const Recording& r) {
  Columns c;
  Names names;
  std::map<const EventLog*, uint16_t> threads;
  py::list told;
  for (const PlacedEvent& p : r.events()) {
    const auto [it, fresh] = threads.try_emplace(p.log, static_cast<uint16_t>(threads.size()));
    if (fresh) told.append(py::make_tuple(p.log->number, p.log->thread));
    c.start.push_back(static_cast<double>(p.event->start - r.start()) / 1e3);
    c.duration.push_back(static_cast<float>(static_cast<double>(p.end - p.event->start) / 1e3));
    c.bytes.push_back(p.event->kind == EventKind::Memory ? static_cast<double>(p.event->number) : 0);
    c.address.push_back(p.event->kind == EventKind::Memory
                            ? static_cast<double>(reinterpret_cast<uintptr_t>(p.event->what))
                            : 0);
    c.name.push_back(names.of(*p.event));
    c.stack.push_back(p.event->stack);
    c.parent.push_back(static_cast<int32_t>(p.parent));
    c.kind.push_back(static_cast<uint8_t>(p.event->kind));
    c.thread.push_back(it->second);
  }
  py::dict d;
  d["start"] = bytes_of(c.start);
  d["duration"] = bytes_of(c.duration);
  d["bytes"] = bytes_of(c.bytes);
  d["address"] = bytes_of(c.address);
  d["name"] = bytes_of(c.name);
  d["stack"] = bytes_of(c.stack);
  d["parent"] = bytes_of(c.parent);
  d["kind"] = bytes_of(c.kind);
  d["thread"] = bytes_of(c.thread);
  d["names"] = names.list();
  d["threads"] = told;
  return d;
}

}  // namespace tl::bind
