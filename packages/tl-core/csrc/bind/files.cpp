// File transfers and ZIP records for Python: headers and directory entries are laid out here, the GIL let go.
#include "bind/files.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/crc32.h"
#include "base/file_transfer.h"
#include "bind/error.h"
#include "bind/gil_release.h"

namespace tl::bind {

namespace {
constexpr size_t kLong = 1 << 15;  // below it, letting the lock go costs more than it gives

class Memory {
 public:
  Memory(PyObject* o, int flags) {
    if (PyObject_GetBuffer(o, &view_, flags) != 0) throw PythonError();
  }
  Memory(Memory&& o) noexcept : view_(std::exchange(o.view_, Py_buffer{})) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() { PyBuffer_Release(&view_); }
  void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_;
};

PyObject* py_crc32(PyObject*, PyObject* args) {
  return translated(
      [&]() -> PyObject* {
        PyObject* data;
        unsigned int before = 0;
        if (!PyArg_ParseTuple(args, "O|I", &data, &before)) throw PythonError();
        const Memory memory(data, PyBUF_SIMPLE);
        return PyLong_FromUnsignedLong(unlocked(
            memory.size() >= kLong, [&] { return crc32_parallel(before, memory.data(), memory.size()); }));
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* answer(const Transfer& t) {
  if (t.error) return raise_os_error(t.error);
  if (t.ended)
    return PyErr_Format(PyExc_EOFError, "the file ends %llu bytes on",
                        static_cast<unsigned long long>(t.done_to));
  return PyLong_FromUnsignedLong(t.crc);
}

template <class F>
PyObject* transfer(PyObject* args, int flags, F&& move) {
  return translated(
      [&]() -> PyObject* {
        int descriptor;
        long long offset;
        PyObject* data;
        if (!PyArg_ParseTuple(args, "iLO", &descriptor, &offset, &data)) throw PythonError();
        TL_CHECK(offset >= 0, Value, "the offset in a file must be 0 or more, got ", offset);
        const Memory memory(data, flags);
        return answer(unlocked(memory.size() >= kLong, [&] {
          return move(descriptor, static_cast<int64_t>(offset), memory.data(), memory.size());
        }));
      },
      static_cast<PyObject*>(nullptr));
}

PyObject* py_read_file(PyObject*, PyObject* args) { return transfer(args, PyBUF_WRITABLE, read_file); }
PyObject* py_write_file(PyObject*, PyObject* args) { return transfer(args, PyBUF_SIMPLE, write_file); }

// ---- records of ZIP archives, stored as they are: APPNOTE.TXT (PKWARE, version 6.3.9) ---------------------

// What 32 bits hold; in its place the number stands in the ZIP64 field.
constexpr uint32_t kWide = 0xFFFFFFFF;
constexpr uint64_t kShort = 0xFFFF;           // what 16 bits hold
constexpr uint16_t kPlain = 20, kZip64 = 45;  // the versions that a reader must know
constexpr uint16_t kUtf8 = 0x800;             // the flag of a name that isn't ASCII
constexpr uint16_t kFiller = 0x4246;          // the tag of the field that fills a header up
// Midnight of the first of January 1980: the same input gives the same file.
constexpr uint32_t kDate = 0x21 << 16;
// The lengths of headers and entries without their names, of a field's tag and size, of a number in it.
constexpr size_t kHeader = 30, kEntry = 46, kField = 4, kNumber = sizeof(uint64_t);

struct Record {
  std::string_view name;
  uint64_t size, offset = 0;
  uint32_t crc = 0;

  uint16_t flags() const {
    for (const char c : name)
      if (static_cast<signed char>(c) < 0) return kUtf8;
    return 0;
  }
};

// A bytes object under construction, for which there is room.
class Bytes {
 public:
  explicit Bytes(int64_t room)
      : held_(checked(PyBytes_FromStringAndSize(nullptr, room))),
        begin_(PyBytes_AS_STRING(held_.get())),
        end_(static_cast<size_t>(room)) {}
  size_t size() const { return at_; }
  char* take(size_t n) {
    TL_CHECK(n <= end_ - at_, Runtime, "a record is longer than it was to be");
    return begin_ + std::exchange(at_, at_ + n);
  }
  template <class... Numbers>
  void put(Numbers... numbers) {
    char* to = take((sizeof(Numbers) + ...));
    const auto one = [&](auto number) {
      for (size_t i = 0; i < sizeof number; ++i) *to++ = static_cast<char>(uint64_t{number} >> 8 * i);
    };
    (one(numbers), ...);
  }
  void put(std::string_view text) { text.copy(take(text.size()), text.size()); }
  PyRef done() {
    PyObject* bytes = held_.release();
    checked(_PyBytes_Resize(&bytes, static_cast<Py_ssize_t>(at_)));
    return PyRef(bytes);
  }

 private:
  PyRef held_;
  char* begin_;
  size_t at_ = 0, end_;
};

uint32_t narrow(uint64_t number) { return static_cast<uint32_t>(std::min<uint64_t>(number, kWide)); }

// What stands before a record's bytes; it ends at a multiple of the alignment.
void put_header(Bytes& out, const Record& r, uint64_t alignment) {
  const bool wide = r.size >= kWide;
  const size_t fields = wide ? 2 * kField + 2 * kNumber : kField;
  const uint64_t over = (r.offset + kHeader + r.name.size() + fields) % alignment;
  const uint64_t filler = over ? alignment - over : 0;
  TL_CHECK(filler <= kShort - fields, Value, "a header can't be filled up by ", filler, " bytes");
  out.put(uint32_t{0x04034B50}, wide ? kZip64 : kPlain, r.flags(), uint16_t{0}, kDate, r.crc, narrow(r.size),
          narrow(r.size), static_cast<uint16_t>(r.name.size()), static_cast<uint16_t>(fields + filler));
  out.put(r.name);
  if (wide) out.put(uint16_t{1}, uint16_t{2 * kNumber}, r.size, r.size);
  out.put(kFiller, static_cast<uint16_t>(filler));
  std::memset(out.take(filler), 'Z', filler);
}

// What stands for a record in the directory.
void put_entry(Bytes& out, const Record& r) {
  const bool wide = r.size >= kWide, far = r.offset >= kWide;
  const size_t numbers = kNumber * ((wide ? 2 : 0) + (far ? 1 : 0));
  const uint16_t version = numbers ? kZip64 : kPlain;
  out.put(uint32_t{0x02014B50}, version, version, r.flags(), uint16_t{0}, kDate, r.crc, narrow(r.size),
          narrow(r.size), static_cast<uint16_t>(r.name.size()),
          static_cast<uint16_t>(numbers ? kField + numbers : 0), uint64_t{0}, uint16_t{0}, narrow(r.offset));
  out.put(r.name);
  if (numbers) out.put(uint16_t{1}, static_cast<uint16_t>(numbers));
  if (wide) out.put(r.size, r.size);
  if (far) out.put(r.offset);
}

// The bytes that the headers of these records take at most, or their entries.
int64_t room_of(std::span<const Record> records, uint64_t alignment) {
  const uint64_t each = kEntry + 2 * kField + 3 * kNumber + std::min(alignment, kShort);
  int64_t room = 0;
  for (const Record& r : records) room = checked_add(room, static_cast<int64_t>(r.name.size() + each));
  return room;
}

Record record_of(PyObject* name, uint64_t size) {
  Py_ssize_t length;
  const char* text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) throw PythonError();
  TL_CHECK(length <= Py_ssize_t{kShort}, Value, "the name of a record can't have ", length, " bytes");
  return {{text, static_cast<size_t>(length)}, size};
}

void check_offset(long long offset, long long alignment) {
  TL_CHECK(offset >= 0 && alignment > 0, Value, "no record can lie behind ", offset, " bytes, aligned to ",
           alignment);
}

PyObject* py_zip_header(PyObject*, PyObject* args) {
  return translated(
      [&]() -> PyObject* {
        PyObject* name;
        long long size, offset, alignment;
        unsigned int crc;
        if (!PyArg_ParseTuple(args, "OLILL", &name, &size, &crc, &offset, &alignment)) throw PythonError();
        check_offset(offset, alignment);
        TL_CHECK(size >= 0, Value, "a record can't have ", size, " bytes");
        Record record = record_of(name, static_cast<uint64_t>(size));
        record.offset = static_cast<uint64_t>(offset), record.crc = crc;
        const auto step = static_cast<uint64_t>(alignment);
        Bytes header(room_of({&record, 1}, step)), entry(room_of({&record, 1}, step));
        put_header(header, record, step);
        put_entry(entry, record);
        return PyTuple_Pack(2, header.done().get(), entry.done().get());
      },
      static_cast<PyObject*>(nullptr));
}

// The size and the checksum of each record.
PyRef facts_of(std::span<const Record> records) {
  PyRef facts = checked(PyList_New(static_cast<Py_ssize_t>(records.size())));
  for (size_t i = 0; i < records.size(); ++i) {
    const auto size = static_cast<unsigned long long>(records[i].size);
    PyList_SET_ITEM(facts.get(), static_cast<Py_ssize_t>(i),
                    checked(Py_BuildValue("(KI)", size, records[i].crc)).release());
  }
  return facts;
}

PyObject* py_zip_records(PyObject*, PyObject* args) {
  return translated(
      [&]() -> PyObject* {
        PyObject* given;
        long long offset, alignment;
        int checksums;
        if (!PyArg_ParseTuple(args, "OLLp", &given, &offset, &alignment, &checksums)) throw PythonError();
        check_offset(offset, alignment);
        const PyRef items = checked(PySequence_Tuple(given));  // a list may change while it is gone through
        const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
        std::vector<Record> records;
        std::vector<Memory> contents;
        records.reserve(static_cast<size_t>(count)), contents.reserve(static_cast<size_t>(count));
        int64_t size = 0;
        for (Py_ssize_t i = 0; i < count; ++i) {
          PyObject* item = PyTuple_GET_ITEM(items.get(), i);
          TL_CHECK(PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 2, Type,
                   "a record is a tuple of a name and its bytes");
          contents.emplace_back(PyTuple_GET_ITEM(item, 1), PyBUF_SIMPLE);
          records.push_back(record_of(PyTuple_GET_ITEM(item, 0), contents.back().size()));
          size = checked_add(size, static_cast<int64_t>(contents.back().size()));
        }
        const auto step = static_cast<uint64_t>(alignment);
        Bytes out(checked_add(size, room_of(records, step))), entries(room_of(records, step));
        unlocked(static_cast<size_t>(size) >= kLong, [&] {
          for (size_t i = 0; i < records.size(); ++i) {
            const std::string_view data(static_cast<const char*>(contents[i].data()), contents[i].size());
            records[i].offset = static_cast<uint64_t>(offset) + out.size();
            if (checksums) records[i].crc = crc32(0, data.data(), data.size());
            put_header(out, records[i], step);
            out.put(data);
            put_entry(entries, records[i]);
          }
        });
        return PyTuple_Pack(3, out.done().get(), entries.done().get(), facts_of(records).get());
      },
      static_cast<PyObject*>(nullptr));
}

PyMethodDef kFunctions[] = {
    {"_crc32", py_crc32, METH_VARARGS, nullptr},
    {"_read_file", py_read_file, METH_VARARGS, nullptr},
    {"_write_file", py_write_file, METH_VARARGS, nullptr},
    {"_zip_header", py_zip_header, METH_VARARGS, nullptr},
    {"_zip_records", py_zip_records, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
}  // namespace

void add_files(PyObject* module) { checked(PyModule_AddFunctions(module, kFunctions)); }

}  // namespace tl::bind
