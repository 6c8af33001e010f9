// Process groups for Python: tensors are made dense, a task is started and waited for without the GIL.
#include "bind/group_object.h"

#include <unistd.h>

#include "bind/task_object.h"
#include "group/dense_buffer.h"
#include "group/recorder.h"

namespace tl::distributed {

namespace {
struct GroupObject {
  PyObject_HEAD std::shared_ptr<Group> group;
};
PyTypeObject* g_type = nullptr;

Group& self_of(PyObject* self) { return *reinterpret_cast<GroupObject*>(self)->group; }

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  {
    std::shared_ptr<Group> last = std::move(reinterpret_cast<GroupObject*>(self)->group);
    WithoutGil others_run;
    last.reset();
  }
  reinterpret_cast<GroupObject*>(self)->group.~shared_ptr();
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- arguments --------------------------------------------------------------------------------------------

Tensor shared_tensor(PyObject* o) { return Tensor::share(tensor_of(o)); }

std::vector<Tensor> tensors_of(PyObject* o) {
  std::vector<Tensor> list;
  if (o == Py_None) return list;
  PyRef items = checked(PySequence_Fast(o, "expected a list of Tensor"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    list.push_back(shared_tensor(PySequence_Fast_GET_ITEM(items.get(), i)));
  return list;
}

// One tensor that holds the parts of all ranks, or a list of a part each.
class Parts {
 public:
  Parts(PyObject* o, int size, bool written)
      : size_(size), use_(written ? DenseBuffer::Use::kWrite : DenseBuffer::Use::kRead) {
    is_whole_ = python().unwrap(o) != nullptr;
    if (is_whole_)
      list_.push_back(shared_tensor(o));
    else
      list_ = tensors_of(o);
  }
  class Dense {
   public:
    explicit Dense(const Parts& parts) : list_(parts.list_, parts.use_) {
      pieces = list_.pieces();
      if (!parts.is_whole_) return;
      const Piece whole = pieces[0];
      pieces.clear();
      for (int i = 0; i < parts.size_; ++i)
        pieces.push_back({whole.data + i * (whole.bytes / parts.size_), whole.bytes / parts.size_});
    }
    void give_back() const { list_.give_back(); }
    Pieces pieces;

   private:
    DenseBuffers list_;
  };
  int64_t dtype() const { return list_.empty() ? 0 : list_[0].dtype(); }

 private:
  int size_;
  DenseBuffer::Use use_;
  bool is_whole_ = false;
  std::vector<Tensor> list_;
};

// The last argument of a method says whether to wait; None comes back if it did, else the task.
template <class F>
PyObject* started(bool wait, F&& start) {
  std::shared_ptr<Task> task;
  {
    WithoutGil others_run;
    task = start();
  }
  return wait ? Py_NewRef(Py_None) : task_object(std::move(task)).release();
}

bool truth(PyObject* o) {
  const int found = PyObject_IsTrue(o);
  if (found < 0) throw PythonError();
  return found;
}
int rank_of(PyObject* o) { return o == Py_None ? -1 : static_cast<int>(integer_of(o)); }
Reduction reduction_of(PyObject* o) { return static_cast<Reduction>(integer_of(o)); }

using Args = PyObject* const*;

// ---- methods ----------------------------------------------------------------------------------------------

PyObject* all_reduce(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("all_reduce(tensor, reduction, root, wait)", n, 4);
    Tensor tensor = shared_tensor(args[0]);
    const Reduction reduction = reduction_of(args[1]);
    const int root = rank_of(args[2]);
    const bool wait = truth(args[3]);
    return started(wait, [&] { return self_of(self).all_reduce(std::move(tensor), reduction, root, wait); });
  });
}

PyObject* broadcast(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("broadcast(tensors, root, wait)", n, 3);
    std::vector<Tensor> tensors = tensors_of(args[0]);
    const int root = rank_of(args[1]);
    const bool wait = truth(args[2]);
    return started(wait, [&] {
      return self_of(self).run(
          [tensors = std::move(tensors), root](Collectives& c, const Deadline& deadline) {
            const bool sends = c.members().rank() == root;
            const DenseBuffers buffer(tensors, sends ? DenseBuffer::Use::kRead : DenseBuffer::Use::kWrite);
            c.broadcast(buffer.pieces(), tensors.empty() ? 0 : tensors[0].dtype(), root, deadline);
            buffer.give_back();
          },
          wait);
    });
  });
}

PyObject* all_gather(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("all_gather(outputs, input, root, wait)", n, 4);
    const Parts outputs(args[0], self_of(self).size(), true);
    Tensor input = shared_tensor(args[1]);
    const int root = rank_of(args[2]);
    const bool wait = truth(args[3]);
    return started(wait, [&] {
      return self_of(self).run(
          [outputs, input, root](Collectives& c, const Deadline& deadline) {
            const Parts::Dense out(outputs);
            const DenseBuffer in(input, DenseBuffer::Use::kRead);
            c.all_gather(out.pieces, in.piece(), input.dtype(), root, deadline);
            out.give_back();
          },
          wait);
    });
  });
}

PyObject* scatter(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("scatter(output, inputs, root, wait)", n, 4);
    Tensor output = shared_tensor(args[0]);
    const Parts inputs(args[1], self_of(self).size(), false);
    const int root = rank_of(args[2]);
    const bool wait = truth(args[3]);
    return started(wait, [&] {
      return self_of(self).run(
          [output, inputs, root](Collectives& c, const Deadline& deadline) {
            const DenseBuffer out(output, DenseBuffer::Use::kWrite);
            const Parts::Dense in(inputs);
            c.scatter(out.piece(), in.pieces, output.dtype(), root, deadline);
            out.give_back();
          },
          wait);
    });
  });
}

PyObject* reduce_scatter(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("reduce_scatter(output, inputs, reduction, wait)", n, 4);
    Tensor output = shared_tensor(args[0]);
    const Parts inputs(args[1], self_of(self).size(), false);
    const Reduction reduction = reduction_of(args[2]);
    const bool wait = truth(args[3]);
    return started(wait, [&] {
      return self_of(self).run(
          [output, inputs, reduction](Collectives& c, const Deadline& deadline) {
            const DenseBuffer out(output, DenseBuffer::Use::kWrite);
            const Parts::Dense in(inputs);
            c.reduce_scatter(out.piece(), in.pieces, output.dtype(), reduction, deadline);
            out.give_back();
          },
          wait);
    });
  });
}

PyObject* all_to_all(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("all_to_all(outputs, inputs, wait)", n, 3);
    const Parts outputs(args[0], self_of(self).size(), true), inputs(args[1], self_of(self).size(), false);
    const bool wait = truth(args[2]);
    return started(wait, [&] {
      return self_of(self).run(
          [outputs, inputs](Collectives& c, const Deadline& deadline) {
            const Parts::Dense out(outputs), in(inputs);
            c.all_to_all(out.pieces, in.pieces, inputs.dtype(), deadline);
            out.give_back();
          },
          wait);
    });
  });
}

// barrier(nanoseconds or None, wait)
PyObject* barrier(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("barrier(nanoseconds, wait)", n, 2);
    const int64_t limit = args[0] == Py_None ? -1 : integer_of(args[0]);
    const bool wait = truth(args[1]);
    return started(wait, [&] {
      return self_of(self).run([](Collectives& c, const Deadline& deadline) { c.barrier(deadline); }, wait,
                               limit);
    });
  });
}

PyObject* message(PyObject* self, Args args, Py_ssize_t n, bool sends) {
  return for_python([&] {
    check_count("send or receive(tensor, peer, tag, wait)", n, 4);
    Tensor tensor = shared_tensor(args[0]);
    const int peer = rank_of(args[1]);
    const int64_t tag = integer_of(args[2]);
    const bool wait = truth(args[3]);
    std::shared_ptr<Task> task;
    {
      WithoutGil others_run;
      Group& group = self_of(self);
      task = sends ? group.send(std::move(tensor), peer, tag, wait)
                   : group.receive(std::move(tensor), peer, tag, wait);
    }
    return task_object(std::move(task)).release();
  });
}
PyObject* send(PyObject* self, Args args, Py_ssize_t n) { return message(self, args, n, true); }
PyObject* receive(PyObject* self, Args args, Py_ssize_t n) { return message(self, args, n, false); }

PyObject* arena_empty(PyObject* self, Args args, Py_ssize_t n) {
  return for_python([&] {
    check_count("arena_empty(count, like)", n, 2);
    const int64_t count = integer_of(args[0]);
    Tensor made = self_of(self).arena_empty(Span(&count, 1), shared_tensor(args[1]).dtype());
    return checked(python().wrap(made.release())).release();
  });
}

PyObject* set_limit(PyObject* self, PyObject* ns) {
  return for_python([&] {
    self_of(self).limit = integer_of(ns);
    return Py_NewRef(Py_None);
  });
}

PyObject* abort_group(PyObject* self, PyObject* why) {
  return for_python([&] {
    self_of(self).abort(text_of(why));
    return Py_NewRef(Py_None);
  });
}

PyObject* has_failed(PyObject* self, PyObject*) { return PyBool_FromLong(self_of(self).has_failed()); }

PyObject* close_group(PyObject* self, PyObject*) {
  return for_python([&] {
    {
      WithoutGil others_run;
      self_of(self).close();
    }
    return Py_NewRef(Py_None);
  });
}

// ---- the type ---------------------------------------------------------------------------------------------

PyObject* object_of(std::shared_ptr<Group> group) {
  PyRef made = checked(g_type->tp_alloc(g_type, 0));
  new (&reinterpret_cast<GroupObject*>(made.get())->group) std::shared_ptr<Group>(std::move(group));
  return made.release();
}

std::vector<Member> members_of(PyObject* o) {
  std::vector<Member> members;
  PyRef items = checked(PySequence_Fast(o, "expected a list of (global rank, pid, host)"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    long long global;
    int pid;
    const char* host;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(items.get(), i), "Lis", &global, &pid, &host))
      throw PythonError();
    members.push_back({global, pid, host});
  }
  return members;
}

// Owned from now on.
std::vector<Descriptor> descriptors_of(PyObject* o) {
  std::vector<Descriptor> list;
  PyRef items = checked(PySequence_Fast(o, "expected a list of descriptors"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
    list.emplace_back(static_cast<int>(integer_of(PySequence_Fast_GET_ITEM(items.get(), i))));
  return list;
}

// local_group(rank, members, name, nanoseconds, memory, pidfds)
PyObject* local_group(PyObject*, PyObject* args) {
  return for_python([&] {
    int rank, memory;
    PyObject *members, *pidfds;
    const char* name;
    long long limit;
    if (!PyArg_ParseTuple(args, "iOsLiO", &rank, &members, &name, &limit, &memory, &pidfds))
      throw PythonError();
    auto segment = std::make_unique<Segment>(Descriptor(memory), rank, members_of(members),
                                             descriptors_of(pidfds), name);
    return object_of(Group::make(local_engine(std::move(segment)), limit));
  });
}

// network_group(rank, members, name, nanoseconds, data, mail, watch, compares_all)
PyObject* network_group(PyObject*, PyObject* args) {
  return for_python([&] {
    int rank, compares_all;
    PyObject *members, *data, *mail, *watch;
    const char* name;
    long long limit;
    if (!PyArg_ParseTuple(args, "iOsLOOOp", &rank, &members, &name, &limit, &data, &mail, &watch,
                          &compares_all))
      throw PythonError();
    Links links{descriptors_of(data), descriptors_of(mail), descriptors_of(watch)};
    auto mesh = std::make_unique<Mesh>(rank, members_of(members), std::move(links), name);
    return object_of(Group::make(network_engine(std::move(mesh), compares_all != 0), limit));
  });
}

std::vector<std::vector<int>> machines_of(PyObject* o) {
  std::vector<std::vector<int>> machines;
  PyRef lists = checked(PySequence_Fast(o, "expected a list of lists of ranks"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(lists.get()); ++i) {
    PyRef ranks =
        checked(PySequence_Fast(PySequence_Fast_GET_ITEM(lists.get(), i), "expected a list of ranks"));
    machines.emplace_back();
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(ranks.get()); ++k)
      machines.back().push_back(rank_of(PySequence_Fast_GET_ITEM(ranks.get(), k)));
  }
  return machines;
}

std::vector<Address> addresses_of(PyObject* o) {
  std::vector<Address> addresses;
  PyRef items = checked(PySequence_Fast(o, "expected a list of (host, port)"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const char* host;
    int port;
    if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(items.get(), i), "si", &host, &port)) throw PythonError();
    addresses.push_back({host, port});
  }
  return addresses;
}

// cluster_group(rank, members, name, nanoseconds, machines, memory, pidfds, watch, listener, token,
// addresses, compares_all, ucx); ucx: the path of the library that moves data between machines, or ""
PyObject* cluster_group(PyObject*, PyObject* args) {
  return for_python([&] {
    int rank, memory, listener, compares_all;
    PyObject *members, *machines, *pidfds, *watch, *addresses;
    const char *name, *token, *ucx;
    long long limit;
    if (!PyArg_ParseTuple(args, "iOsLOiOOisOps", &rank, &members, &name, &limit, &machines, &memory, &pidfds,
                          &watch, &listener, &token, &addresses, &compares_all, &ucx))
      throw PythonError();
    auto door = std::make_unique<Door>(Descriptor(listener), rank, token, addresses_of(addresses));
    ClusterLinks links{Descriptor(memory), descriptors_of(pidfds), descriptors_of(watch), std::move(door)};
    if (*ucx) links.ucx = &UcxLibrary::load(ucx);
    auto cluster =
        std::make_unique<Cluster>(rank, members_of(members), name, machines_of(machines), std::move(links));
    return object_of(Group::make(cluster_engine(std::move(cluster), compares_all != 0), limit));
  });
}

// ucx_library(path) -> (path, version, resources) of libucp, loaded
PyObject* ucx_library(PyObject*, PyObject* path) {
  return for_python([&] {
    const char* text = PyUnicode_AsUTF8(path);
    if (!text) throw PythonError();
    const UcxLibrary& library = UcxLibrary::load(text);
    PyRef resources = checked(PyList_New(0));
    for (const std::string& each : library.resources()) {
      PyRef name = checked(PyUnicode_FromString(each.c_str()));
      checked(PyList_Append(resources.get(), name.get()));
    }
    return checked(Py_BuildValue("(ssO)", library.path().c_str(), library.version().c_str(), resources.get()))
        .release();
  });
}

// sent() -> (frames, bytes) that the collectives of this rank have sent over a network
PyObject* sent(PyObject* self, PyObject*) {
  return for_python([&] {
    const Mesh* mesh = self_of(self).mesh();
    return checked(Py_BuildValue("(LL)", static_cast<long long>(mesh ? mesh->frames_sent() : 0),
                                 static_cast<long long>(mesh ? mesh->bytes_sent() : 0)))
        .release();
  });
}

PyMethodDef kMethods[] = {
    {"all_reduce", method(all_reduce), METH_FASTCALL, nullptr},
    {"broadcast", method(broadcast), METH_FASTCALL, nullptr},
    {"all_gather", method(all_gather), METH_FASTCALL, nullptr},
    {"scatter", method(scatter), METH_FASTCALL, nullptr},
    {"reduce_scatter", method(reduce_scatter), METH_FASTCALL, nullptr},
    {"all_to_all", method(all_to_all), METH_FASTCALL, nullptr},
    {"barrier", method(barrier), METH_FASTCALL, nullptr},
    {"send", method(send), METH_FASTCALL, nullptr},
    {"receive", method(receive), METH_FASTCALL, nullptr},
    {"arena_empty", method(arena_empty), METH_FASTCALL, nullptr},
    {"set_limit", set_limit, METH_O, nullptr},
    {"abort", abort_group, METH_O, nullptr},
    {"has_failed", has_failed, METH_NOARGS, nullptr},
    {"sent", sent, METH_NOARGS, nullptr},
    {"close", close_group, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot kSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)}, {Py_tp_methods, kMethods}, {0, nullptr}};
PyType_Spec kSpec = {"tl_distributed._C.Group", sizeof(GroupObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};

// ---- the flight recorder ----------------------------------------------------------------------------------

const char* name_of(Stage stage) {
  constexpr const char* names[] = {"empty", "queued", "running", "done", "failed"};
  return names[static_cast<int>(stage)];
}

PyObject* segment_bytes(PyObject*, PyObject* size) {
  return for_python([&] { return PyLong_FromLongLong(Segment::bytes(static_cast<int>(integer_of(size)))); });
}

PyObject* record_to(PyObject*, PyObject* descriptor) {
  return for_python([&] {
    Recorder::instance().use(static_cast<int>(integer_of(descriptor)));
    return Py_NewRef(Py_None);
  });
}

PyRef list_of(const RecordRing& ring) {
  PyRef list = checked(PyList_New(0));
  for (const Record* r : records_of(ring)) {
    PyRef item = checked(Py_BuildValue(
        "(sKssLLLs)", r->group, static_cast<unsigned long long>(r->call.sequence), name_of(r->call.kind),
        text_of(r->call).c_str(), static_cast<long long>(r->call.bytes()),
        static_cast<long long>(r->call.began), static_cast<long long>(r->ended), name_of(r->stage.load())));
    checked(PyList_Append(list.get(), item.get()));
  }
  return list;
}

// records() -> [(group, sequence, operation, text, bytes, began, ended, stage)]
PyObject* records(PyObject*, PyObject*) {
  return for_python([&] { return list_of(Recorder::instance().ring()).release(); });
}

// read_ring(bytes) -> (rank, pid, epoch, records): those of a ring that another process wrote
PyObject* read_ring(PyObject*, PyObject* data) {
  return for_python([&] {
    char* memory = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(data, &memory, &size) != 0) throw PythonError();
    const RecordRing& ring = ring_in(memory, static_cast<size_t>(size));
    PyRef list = list_of(ring);
    return checked(
               Py_BuildValue("(iiLO)", ring.rank, ring.pid, static_cast<long long>(ring.epoch), list.get()))
        .release();
  });
}

PyMethodDef kFunctions[] = {
    {"local_group", local_group, METH_VARARGS, nullptr},
    {"network_group", network_group, METH_VARARGS, nullptr},
    {"cluster_group", cluster_group, METH_VARARGS, nullptr},
    {"ucx_library", ucx_library, METH_O, nullptr},
    {"segment_bytes", segment_bytes, METH_O, nullptr},
    {"record_to", record_to, METH_O, nullptr},
    {"records", records, METH_NOARGS, nullptr},
    {"read_ring", read_ring, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

// The numbers of the reductions, by the names in ReduceOp.
PyRef reductions() {
  PyRef numbers = checked(PyDict_New());
  for (int i = 0; i < static_cast<int>(Reduction::kNone); ++i) {
    PyRef number = checked(PyLong_FromLong(i));
    checked(PyDict_SetItemString(numbers.get(), name_of(static_cast<Reduction>(i)), number.get()));
  }
  return numbers;
}
}  // namespace

void add_group_type(PyObject* module) {
  g_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromSpec(&kSpec)).release());
  checked(PyModule_AddObjectRef(module, "Group", reinterpret_cast<PyObject*>(g_type)));
  checked(PyModule_AddFunctions(module, kFunctions));
  checked(PyModule_AddObjectRef(module, "REDUCTIONS", reductions().get()));
}

std::shared_ptr<Group> group_of(PyObject* o) {
  if (!PyObject_TypeCheck(o, g_type))
    raise(PyExc_TypeError, std::string("expected a Group, got ") + Py_TYPE(o)->tp_name);
  return reinterpret_cast<GroupObject*>(o)->group;
}

}  // namespace tl::distributed
