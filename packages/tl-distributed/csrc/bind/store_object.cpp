// Stores for Python: keys and values as bytes, requests without the GIL.
#include "bind/store_object.h"

#include <memory>

#include "store/client.h"
#include "store/server.h"

namespace tl::distributed {

namespace {
template <class T>
struct Holder {
  PyObject_HEAD std::unique_ptr<T> held;
};

template <class T>
T& held_by(PyObject* self) {
  return *reinterpret_cast<Holder<T>*>(self)->held;
}

template <class T>
void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  auto& held = reinterpret_cast<Holder<T>*>(self)->held;
  {
    std::unique_ptr<T> last = std::move(held);
    WithoutGil others_run;  // a server waits for its thread
    last.reset();
  }
  std::destroy_at(&held);
  type->tp_free(self);
  Py_DECREF(type);
}

template <class T>
PyObject* hold(PyTypeObject* type, std::unique_ptr<T> made) {
  PyRef object = checked(type->tp_alloc(type, 0));
  new (&reinterpret_cast<Holder<T>*>(object.get())->held) std::unique_ptr<T>(std::move(made));
  return object.release();
}

template <class F>
auto without_gil(F&& body) {
  WithoutGil others_run;
  return body();
}

// ---- the server -------------------------------------------------------------------------------------------

// StoreServer(port, descriptor or -1)
PyObject* create_server(PyTypeObject* type, PyObject* args, PyObject*) {
  return for_python([&]() -> PyObject* {
    int port, descriptor;
    if (!PyArg_ParseTuple(args, "ii", &port, &descriptor)) throw PythonError();
    return hold(type, std::make_unique<StoreServer>(descriptor < 0 ? listen_at(port)
                                                                   : listening_already(descriptor)));
  });
}
PyObject* server_host(PyObject* self, void*) {
  return PyUnicode_FromString(held_by<StoreServer>(self).host().c_str());
}
PyObject* server_port(PyObject* self, void*) { return PyLong_FromLong(held_by<StoreServer>(self).port()); }

PyGetSetDef kServerMembers[] = {{"host", server_host, nullptr, nullptr, nullptr},
                                {"port", server_port, nullptr, nullptr, nullptr},
                                {nullptr, nullptr, nullptr, nullptr, nullptr}};

// ---- the client -------------------------------------------------------------------------------------------

// Arguments from Python, and results to it.
std::string bytes_of(PyObject* o) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(o, &data, &size) < 0) throw PythonError();
  return {data, static_cast<size_t>(size)};
}
template <auto read>
StoreClient::Texts list_of(PyObject* o) {
  StoreClient::Texts list;
  PyRef items = checked(PySequence_Fast(o, "expected a list"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    list.push_back(read(PySequence_Fast_GET_ITEM(items.get(), i)));
  return list;
}
PyObject* to_bytes(const std::string& value) {
  return PyBytes_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size()));
}
PyObject* to_text(const std::string& value) {
  return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "surrogateescape");
}
template <auto make>
PyObject* to_list(const StoreClient::Texts& values) {
  PyRef list = checked(PyList_New(static_cast<Py_ssize_t>(values.size())));
  for (size_t i = 0; i < values.size(); ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), checked(make(values[i])).release());
  return list.release();
}

using Args = PyObject* const*;
template <class F>
PyObject* with_client(PyObject* self, const char* usage, Py_ssize_t n, Py_ssize_t wanted, F&& body) {
  return for_python([&]() -> PyObject* {
    check_count(usage, n, wanted);
    return body(held_by<StoreClient>(self));
  });
}

// StoreClient(host, port, name, nanoseconds)
PyObject* create_client(PyTypeObject* type, PyObject* args, PyObject*) {
  return for_python([&]() -> PyObject* {
    const char *host, *name;
    int port;
    long long limit;
    if (!PyArg_ParseTuple(args, "sisL", &host, &port, &name, &limit)) throw PythonError();
    return hold(type, without_gil([&] { return std::make_unique<StoreClient>(host, port, name, limit); }));
  });
}

PyObject* set_limit(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "set_limit(nanoseconds)", n, 1, [&](StoreClient& client) {
    client.set_limit(integer_of(args[0]));
    return Py_NewRef(Py_None);
  });
}
// set, append and queue_push(key, value)
template <auto method>
PyObject* put(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "set, append or queue_push(key, value)", n, 2, [&](StoreClient& client) {
    const std::string key = text_of(args[0]), value = bytes_of(args[1]);
    without_gil([&] { (client.*method)(key, value); });
    return Py_NewRef(Py_None);
  });
}
PyObject* multi_set(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "multi_set(keys, values)", n, 2, [&](StoreClient& client) {
    const StoreClient::Texts keys = list_of<text_of>(args[0]), values = list_of<bytes_of>(args[1]);
    if (keys.size() != values.size()) raise(PyExc_ValueError, "multi_set: as many values as keys are needed");
    without_gil([&] { client.multi_set(keys, values); });
    return Py_NewRef(Py_None);
  });
}
PyObject* add(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "add(key, amount)", n, 2, [&](StoreClient& client) {
    const std::string key = text_of(args[0]);
    const int64_t amount = integer_of(args[1]);
    return PyLong_FromLongLong(without_gil([&] { return client.add(key, amount); }));
  });
}
PyObject* check_keys(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "check(keys)", n, 1, [&](StoreClient& client) {
    const StoreClient::Texts keys = list_of<text_of>(args[0]);
    return PyBool_FromLong(without_gil([&] { return client.check(keys); }));
  });
}
PyObject* compare_set(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "compare_set(key, expected, desired)", n, 3, [&](StoreClient& client) {
    const std::string key = text_of(args[0]), expected = bytes_of(args[1]), desired = bytes_of(args[2]);
    return to_bytes(without_gil([&] { return client.compare_set(key, expected, desired); }));
  });
}
PyObject* delete_key(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "delete_key(key)", n, 1, [&](StoreClient& client) {
    const std::string key = text_of(args[0]);
    return PyBool_FromLong(without_gil([&] { return client.erase(key); }));
  });
}
PyObject* num_keys(PyObject* self, Args, Py_ssize_t n) {
  return with_client(self, "num_keys()", n, 0, [&](StoreClient& client) {
    return PyLong_FromLongLong(without_gil([&] { return client.count_keys(); }));
  });
}
PyObject* list_keys(PyObject* self, Args, Py_ssize_t n) {
  return with_client(self, "list_keys()", n, 0, [&](StoreClient& client) {
    return to_list<to_text>(without_gil([&] { return client.list_keys(); }));
  });
}
PyObject* wait(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "wait(keys, nanoseconds)", n, 2, [&](StoreClient& client) {
    const StoreClient::Texts keys = list_of<text_of>(args[0]);
    const int64_t ns = integer_of(args[1]);
    without_gil([&] { client.wait(keys, ns); });
    return Py_NewRef(Py_None);
  });
}
// get(key, nanoseconds) and multi_get(keys, nanoseconds) wait first.
PyObject* get(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "get(key, nanoseconds)", n, 2, [&](StoreClient& client) {
    const std::string key = text_of(args[0]);
    const int64_t ns = integer_of(args[1]);
    return to_bytes(without_gil([&] {
      client.wait({key}, ns);
      return client.get(key);
    }));
  });
}
PyObject* multi_get(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "multi_get(keys, nanoseconds)", n, 2, [&](StoreClient& client) {
    const StoreClient::Texts keys = list_of<text_of>(args[0]);
    const int64_t ns = integer_of(args[1]);
    return to_list<to_bytes>(without_gil([&] {
      client.wait(keys, ns);
      return client.get(keys);
    }));
  });
}
// queue_pop(key) -> bytes, or None if the queue is empty
PyObject* queue_pop(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "queue_pop(key)", n, 1, [&](StoreClient& client) {
    const std::string key = text_of(args[0]);
    const std::optional<std::string> value = without_gil([&] { return client.queue_pop(key); });
    return value ? to_bytes(*value) : Py_NewRef(Py_None);
  });
}
PyObject* queue_len(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "queue_len(key)", n, 1, [&](StoreClient& client) {
    const std::string key = text_of(args[0]);
    return PyLong_FromLongLong(without_gil([&] { return client.queue_length(key); }));
  });
}
PyObject* barrier(PyObject* self, Args args, Py_ssize_t n) {
  return with_client(self, "barrier(key, size, nanoseconds)", n, 3, [&](StoreClient& client) {
    const std::string key = text_of(args[0]);
    const int64_t size = integer_of(args[1]), ns = integer_of(args[2]);
    without_gil([&] { client.barrier(key, size, ns); });
    return Py_NewRef(Py_None);
  });
}

PyMethodDef kClientMethods[] = {
    {"set_limit", method(set_limit), METH_FASTCALL, nullptr},
    {"set", method(put<&StoreClient::set>), METH_FASTCALL, nullptr},
    {"append", method(put<&StoreClient::append>), METH_FASTCALL, nullptr},
    {"queue_push", method(put<&StoreClient::queue_push>), METH_FASTCALL, nullptr},
    {"multi_set", method(multi_set), METH_FASTCALL, nullptr},
    {"add", method(add), METH_FASTCALL, nullptr},
    {"check", method(check_keys), METH_FASTCALL, nullptr},
    {"compare_set", method(compare_set), METH_FASTCALL, nullptr},
    {"delete_key", method(delete_key), METH_FASTCALL, nullptr},
    {"num_keys", method(num_keys), METH_FASTCALL, nullptr},
    {"list_keys", method(list_keys), METH_FASTCALL, nullptr},
    {"wait", method(wait), METH_FASTCALL, nullptr},
    {"get", method(get), METH_FASTCALL, nullptr},
    {"multi_get", method(multi_get), METH_FASTCALL, nullptr},
    {"queue_pop", method(queue_pop), METH_FASTCALL, nullptr},
    {"queue_len", method(queue_len), METH_FASTCALL, nullptr},
    {"barrier", method(barrier), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kServerSlots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc<StoreServer>)},
                              {Py_tp_new, reinterpret_cast<void*>(create_server)},
                              {Py_tp_getset, kServerMembers},
                              {0, nullptr}};
PyType_Spec kServerSpec = {"tl_distributed._C.StoreServer", sizeof(Holder<StoreServer>), 0,
                           Py_TPFLAGS_DEFAULT, kServerSlots};
PyType_Slot kClientSlots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc<StoreClient>)},
                              {Py_tp_new, reinterpret_cast<void*>(create_client)},
                              {Py_tp_methods, kClientMethods},
                              {0, nullptr}};
PyType_Spec kClientSpec = {"tl_distributed._C.StoreClient", sizeof(Holder<StoreClient>), 0,
                           Py_TPFLAGS_DEFAULT, kClientSlots};
}  // namespace

void add_store_types(PyObject* module) {
  PyRef server = checked(PyType_FromSpec(&kServerSpec)), client = checked(PyType_FromSpec(&kClientSpec));
  checked(PyModule_AddObjectRef(module, "StoreServer", server.get()));
  checked(PyModule_AddObjectRef(module, "StoreClient", client.get()));
}

}  // namespace tl::distributed
