// Columns of a recording: one typed array a field, names and stacks as indices into tables of texts.
#include "bind/event_columns.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "bind/error.h"

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
  PyRef list() const {
    PyRef texts = checked(PyList_New(static_cast<Py_ssize_t>(numbers_.size())));
    for (const auto& [text, number] : numbers_)
      PyList_SET_ITEM(
          texts.get(), number,
          checked(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"))
              .release());
    return texts;
  }

 private:
  uint32_t of(std::string text) {
    return numbers_.try_emplace(std::move(text), static_cast<uint32_t>(numbers_.size())).first->second;
  }
  std::unordered_map<const void*, uint32_t> known_;
  std::map<std::string, uint32_t> numbers_;
};

void set(const PyRef& dict, const char* key, const PyRef& value) {
  checked(PyDict_SetItemString(dict.get(), key, value.get()));
}
template <class T>
void set(const PyRef& dict, const char* key, const std::vector<T>& column) {
  set(dict, key,
      checked(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(column.data()),
                                        static_cast<Py_ssize_t>(column.size() * sizeof(T)))));
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
PyRef event_columns(const Recording& r) {
  Columns c;
  Names names;
  std::map<const EventLog*, uint16_t> threads;
  const PyRef thread_list = checked(PyList_New(0));
  for (const PlacedEvent& p : r.events()) {
    const auto [it, fresh] = threads.try_emplace(p.log, static_cast<uint16_t>(threads.size()));
    if (fresh)
      checked(
          PyList_Append(thread_list.get(), checked(Py_BuildValue("LL", static_cast<long long>(p.log->number),
                                                                 static_cast<long long>(p.log->thread)))
                                               .get()));
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
  PyRef d = checked(PyDict_New());
  set(d, "start", c.start);
  set(d, "duration", c.duration);
  set(d, "bytes", c.bytes);
  set(d, "address", c.address);
  set(d, "name", c.name);
  set(d, "stack", c.stack);
  set(d, "parent", c.parent);
  set(d, "kind", c.kind);
  set(d, "thread", c.thread);
  set(d, "names", names.list());
  set(d, "threads", thread_list);
  return d;
}

}  // namespace tl::bind
