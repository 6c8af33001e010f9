// Chrome traces: events are written as JSON through a buffer of fixed size, without Python objects.
#include "profile/chrome_trace.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "dispatch/operator_recorder.h"
#include "dispatch/recorded_values.h"

namespace tl {

namespace {
// ---- a file -----------------------------------------------------------------------------------------------
class Output {
 public:
  explicit Output(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "wb")) {
    if (!file_) refuse();
    buffer_.reserve(kSize + kMargin);
  }
  ~Output() {
    if (file_) std::fclose(file_);
  }
  Output(const Output&) = delete;

  std::string& room() {
    if (buffer_.size() >= kSize) flush();
    return buffer_;
  }
  void close() {
    flush();
    std::FILE* f = std::exchange(file_, nullptr);
    if (std::fclose(f) != 0) refuse();
  }

 private:
  static constexpr size_t kSize = size_t{1} << 20, kMargin = size_t{1} << 16;

  void flush() {
    if (!buffer_.empty() && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size()) refuse();
    buffer_.clear();
  }
  [[noreturn]] void refuse() {
    const int number = errno;
    throw FileError(number, path_);
  }

  std::string path_, buffer_;
  std::FILE* file_;
};

// ---- JSON -------------------------------------------------------------------------------------------------
void put(std::string& out, int64_t x) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, x).ptr;
  out.append(digits, end);
}

// Nanoseconds as microseconds.
void put_time(std::string& out, int64_t ns) {
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  put(out, ns / 1000);
  const int rest = static_cast<int>(ns % 1000);
  const char text[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                       static_cast<char>('0' + rest % 10)};
  out.append(text, sizeof text);
}

void put_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    } else {
      out += c;
    }
  }
}

void put_number(std::string& out, double x) {
  char text[32];
  if (!std::isfinite(x)) {
    out += std::isnan(x) ? "nan" : x < 0 ? "-inf" : "inf";
    return;
  }
  const auto end = std::to_chars(text, text + sizeof text, x).ptr;
  out.append(text, end);
  if (std::string_view(text, static_cast<size_t>(end - text)).find_first_of(".e") == std::string_view::npos)
    out += '.';
}

void put_list(std::string& out, IntSpan s) {
  out += '[';
  for (size_t i = 0; i < s.size(); ++i) {
    if (i) out += ", ";
    put(out, s[i]);
  }
  out += ']';
}

// The number that traces know a type by.
int dtype_number(DType dtype) {
  static constexpr int kNumbers[kNumDTypes] = {11, 0, 1, 2, 3, 4, 27, 28, 29, 5, 15, 6, 7, 8, 9, 10};
  const int index = static_cast<int>(dtype);
  return index < kNumDTypes ? kNumbers[index] : index;
}

// ---- values: four lists, entry by entry -------------------------------------------------------------------
struct Lists {
  std::string dims, strides, types, concrete;
};

class ValueLists {
 public:
  explicit ValueLists(Lists& to) : to_(to) {}

  // `is_switch`: None stands for False.
  void add(RecordedValues& from, bool is_switch) {
    const RecordedValues::Head head = from.next_head();
    separate();
    if (head.tag == TL_NONE && is_switch) return plain("Scalar", "False");
    if (head.tag == TL_TENSOR) return tensor(from.tensor(head));
    if (head.tag == TL_TENSOR_LIST) return tensors(from, head.len);
    to_.dims += "[]";
    to_.strides += "[]";
    to_.types += head.tag == TL_NONE ? "\"\"" : head.tag >= TL_BOOL_LIST ? "\"ScalarList\"" : "\"Scalar\"";
    to_.concrete += '"';
    concrete(from, head);
    to_.concrete += '"';
  }

 private:
  void plain(const char* type, const char* text) {
    to_.dims += "[]";
    to_.strides += "[]";
    to_.types += cat('"', type, '"');
    to_.concrete += cat('"', text, '"');
  }

  void separate() {
    if (first_) {
      first_ = false;
      return;
    }
    for (std::string* s : {&to_.dims, &to_.strides, &to_.types, &to_.concrete}) *s += ", ";
  }

  void tensor(const RecordedTensor& t) {
    put_list(to_.dims, t.sizes);
    put_list(to_.strides, t.strides);
    to_.types += '"';
    to_.types += dtype_in_traces(static_cast<int>(t.dtype));
    to_.types += '"';
    to_.concrete += "\"\"";
  }

  void tensors(RecordedValues& from, uint32_t n) {
    to_.dims += '[';
    to_.strides += '[';
    for (uint32_t i = 0; i < n; ++i) {
      const RecordedValues::Head head = from.next_head();
      if (i) to_.dims += ", ", to_.strides += ", ";
      if (head.tag != TL_TENSOR) {
        to_.dims += "[]";
        to_.strides += "[]";
        continue;
      }
      const RecordedTensor t = from.tensor(head);
      put_list(to_.dims, t.sizes);
      put_list(to_.strides, t.strides);
    }
    to_.dims += ']';
    to_.strides += ']';
    to_.types += "\"TensorList\"";
    to_.concrete += "\"\"";
  }

  // A value as traces have it: Python's text for numbers, the number of a dtype, nothing for None.
  void concrete(RecordedValues& from, const RecordedValues::Head& head) {
    std::string& out = to_.concrete;
    switch (head.tag) {
      case TL_NONE:
        return;
      case TL_BOOL:
        out += from.integer() ? "True" : "False";
        return;
      case TL_INT:
        return put(out, from.integer());
      case TL_FLOAT:
        return put_number(out, from.number());
      case TL_COMPLEX: {
        const double re = from.number(), im = from.number();
        put_number(out, re);
        out += " + ";
        put_number(out, im);
        out += 'j';
        return;
      }
      case TL_STRING:
        return put_escaped(out, from.text(head));
      case TL_DTYPE:
        return put(out, dtype_number(dtype_from_abi(from.integer())));
      default:
        return head.tag >= TL_BOOL_LIST ? list(from, head) : put(out, from.integer());
    }
  }

  void list(RecordedValues& from, const RecordedValues::Head& head) {
    std::string& out = to_.concrete;
    const std::string_view bools = head.tag == TL_BOOL_LIST ? from.text(head) : std::string_view();
    out += '[';
    for (uint32_t i = 0; i < head.len; ++i) {
      if (i) out += ", ";
      if (head.tag == TL_INT_LIST) {
        put(out, from.integer());
      } else if (head.tag == TL_FLOAT_LIST) {
        put_number(out, from.number());
      } else if (head.tag == TL_BOOL_LIST) {
        out += bools[i] ? "True" : "False";
      } else {
        concrete(from, from.next_head());
      }
    }
    out += ']';
  }

  Lists& to_;
  bool first_ = true;
};

void put_values(std::string& out, const Event& e) {
  Lists lists;
  ValueLists to(lists);
  RecordedValues from(e.values());
  const Operator* op = e.kind == EventKind::Operator ? static_cast<const Operator*>(e.what) : nullptr;
  for (int i = 0; i < e.n_values; ++i)
    to.add(from, op && i < op->info.n_args && op->info.args[i].kind == TL_ARG_BOOL);
  out += ", \"Concrete Inputs\": [";
  out += lists.concrete;
  out += "], \"Input type\": [";
  out += lists.types;
  out += "], \"Input Strides\": [";
  out += lists.strides;
  out += "], \"Input Dims\": [";
  out += lists.dims;
  out += ']';
}

// ---- events -----------------------------------------------------------------------------------------------
const char* category(EventKind kind) {
  switch (kind) {
    case EventKind::Range:
      return "user_annotation";
    case EventKind::Module:
    case EventKind::Call:
    case EventKind::NativeCall:
      return "python_function";
    default:
      return "cpu_op";
  }
}

class Trace {
 public:
  Trace(const Recording& r, Output& out) : r_(r), out_(out), pid_(getpid()) {}

  void write_all() {
    const auto& events = r_.events();
    for (size_t i = 0; i < events.size(); ++i) {
      const Event& e = *events[i].event;
      if (e.kind == EventKind::Results) continue;
      if (e.kind == EventKind::Memory || e.kind == EventKind::Mark)
        memory(events[i], i);
      else
        timed(events[i], i);
    }
  }

  // An arrow from the call that made a node to the node.
  void write_links() {
    std::map<std::pair<uint32_t, int64_t>, const PlacedEvent*> calls;
    for (const PlacedEvent& p : r_.events())
      if (p.event->kind == EventKind::Operator && p.event->number >= 0)
        calls[{p.log->number, p.event->number}] = &p;
    int64_t id = 0;
    for (const PlacedEvent& p : r_.events()) {
      if (p.event->kind != EventKind::Node || p.event->number < 0) continue;
      const auto found = calls.find({p.log->number, p.event->number});
      if (found == calls.end() || found->second->event->start > p.event->start) continue;
      arrow('s', ++id, *found->second);
      arrow('f', id, p);
    }
  }

 private:
  void begin(std::string& out, char phase, const PlacedEvent& p) {
    out += first_ ? "" : ",\n";
    first_ = false;
    out += "{\"ph\": \"";
    out += phase;
    out += "\", \"pid\": ";
    put(out, pid_);
    out += ", \"tid\": ";
    put(out, p.log->thread);
    out += ", \"ts\": ";
    put_time(out, p.event->start);
  }

  // What events of one kind call themselves, made once.
  const std::string& name(const Event& e) {
    if (e.text_bytes || e.kind == EventKind::Memory) {
      scratch_.clear();
      put_escaped(scratch_, event_name(e));
      return scratch_;
    }
    auto [it, fresh] = names_.try_emplace(e.what);
    if (fresh) put_escaped(it->second, event_name(e));
    return it->second;
  }

  void timed(const PlacedEvent& p, size_t index) {
    std::string& out = out_.room();
    const Event& e = *p.event;
    begin(out, 'X', p);
    out += ", \"dur\": ";
    put_time(out, p.end - e.start);
    out += ", \"cat\": \"";
    out += category(e.kind);
    out += "\", \"name\": \"";
    out += name(e);
    out += "\", \"args\": {";
    arguments(out, p, index);
    out += "}}";
  }

  void arguments(std::string& out, const PlacedEvent& p, size_t index) {
    const Event& e = *p.event;
    if (e.kind == EventKind::Call || e.kind == EventKind::NativeCall || e.kind == EventKind::Module) {
      python_ids(out, p, index);
    } else {
      out += "\"External id\": ";
      put(out, static_cast<int64_t>(index) + 1);
      if (e.number >= 0) {
        out += ", \"Sequence number\": ";
        put(out, e.number);
        out += ", \"Fwd thread id\": ";
        put(out, e.kind == EventKind::Operator ? 0 : p.log->number);
      }
      out += ", \"Record function id\": ";
      put(out, static_cast<int64_t>(index) + 1);
      if (e.n_values) put_values(out, e);
    }
    out += ", \"Ev Idx\": ";
    put(out, static_cast<int64_t>(index));
  }

  bool is_python(int64_t i) const {
    const EventKind kind = r_.events()[static_cast<size_t>(i)].event->kind;
    return kind == EventKind::Call || kind == EventKind::NativeCall || kind == EventKind::Module;
  }

  // The functions through which a module is called stand for the module itself.
  bool calls_modules(int64_t i) {
    const Event& e = *r_.events()[static_cast<size_t>(i)].event;
    if (e.kind != EventKind::Call) return false;
    const std::string& called = name(e);
    return called.find("/tl_nn/modules/") != called.npos && called.find("_call") != called.npos;
  }

  void python_ids(std::string& out, const PlacedEvent& p, size_t index) {
    const bool is_module = p.event->kind == EventKind::Module;
    int64_t parent = p.parent;
    while (parent >= 0 && (!is_python(parent) || (is_module && calls_modules(parent))))
      parent = r_.events()[static_cast<size_t>(parent)].parent;
    out += "\"Python parent id\": ";
    if (parent < 0)
      out += "null";
    else
      put(out, parent + 1);
    out += ", \"Python id\": ";
    put(out, static_cast<int64_t>(index) + 1);
  }

  void memory(const PlacedEvent& p, size_t index) {
    std::string& out = out_.room();
    begin(out, 'i', p);
    out += ", \"cat\": \"cpu_instant_event\", \"s\": \"t\", \"name\": \"";
    out += name(*p.event);
    out += "\", \"args\": {\"Total Reserved\": 0, \"Total Allocated\": ";
    put(out, p.event->kind == EventKind::Memory ? *reinterpret_cast<const int64_t*>(p.event->values()) : 0);
    out += ", \"Bytes\": ";
    put(out, p.event->number);
    out += ", \"Addr\": ";
    put(out, static_cast<int64_t>(reinterpret_cast<intptr_t>(p.event->what)));
    out += ", \"Device Id\": -1, \"Device Type\": 0, \"Ev Idx\": ";
    put(out, static_cast<int64_t>(index));
    out += "}}";
  }

  void arrow(char phase, int64_t id, const PlacedEvent& p) {
    std::string& out = out_.room();
    begin(out, phase, p);
    out += ", \"id\": ";
    put(out, id);
    out += ", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"";
    if (phase == 'f') out += ", \"bp\": \"e\"";
    out += '}';
  }

  const Recording& r_;
  Output& out_;
  int64_t pid_;
  bool first_ = true;
  std::string scratch_;
  std::unordered_map<const void*, std::string> names_;
};
}  // namespace

void write_chrome_trace(const Recording& recording, const std::string& path, const std::string& head,
                        const std::string& tail, bool links) {
  Output out(path);
  out.room() += head;
  Trace trace(recording, out);
  trace.write_all();
  if (links) trace.write_links();
  out.room() += tail;
  out.close();
}

}  // namespace tl
