// A library as it is built for PyTorch's stable C interface: it registers operators when it is loaded, some
// before they are defined. It includes no header of PyTorch or tl.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using Word = uint64_t;
using Boxed = void (*)(Word*, uint64_t, uint64_t);
struct Tensor;
struct Library;
struct List;
struct String;

extern "C" {
int aoti_torch_library_init_def(const char*, const char*, uint32_t, Library**);
int aoti_torch_library_init_impl(const char*, const char*, const char*, uint32_t, Library**);
int aoti_torch_library_init_fragment(const char*, const char*, uint32_t, Library**);
int aoti_torch_library_def(Library*, const char*);
int torch_library_def_with_tags(Library*, const char*, const int32_t*, int32_t);
int torch_library_impl(Library*, const char*, Boxed, uint64_t);
int torch_tag_pointwise();
int torch_call_dispatcher(const char*, const char*, Word*, uint64_t);
int torch_list_size(List*, size_t*);
int torch_list_get_item(List*, size_t, Word*);
int torch_list_set_item(List*, size_t, Word);
int torch_list_push_back(List*, Word);
int torch_new_list_reserve_size(size_t, List**);
int torch_delete_list(List*);
int torch_new_string_handle(const char*, size_t, String**);
int torch_string_c_str(String*, const char**);
int torch_string_length(String*, size_t*);
int torch_delete_string(String*);
int torch_new_stable_ivalue(Word**);
int torch_delete_stable_ivalue(Word*);
const char* torch_exception_get_what_without_backtrace();
int aoti_torch_delete_tensor_object(Tensor*);
int aoti_torch_new_tensor_handle(Tensor*, Tensor**);
int aoti_torch_new_uninitialized_tensor(Tensor**);
int aoti_torch_assign_tensors(Tensor*, Tensor*);
int aoti_torch_is_defined(Tensor*, bool*);
int aoti_torch_get_data_ptr(Tensor*, void**);
int aoti_torch_get_numel(Tensor*, int64_t*);
int aoti_torch_get_size(Tensor*, int64_t, int64_t*);
int aoti_torch_item_int64(Tensor*, int64_t*);
int aoti_torch_scalar_to_tensor_float64(double, Tensor**);
int torch_from_blob(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t,
                    Tensor**, int32_t, const uint8_t*, int64_t, void (*)(void*, void*), void*);
int32_t aoti_torch_dtype_float32();
int32_t aoti_torch_dtype_float64();
int torch_parallel_for(int64_t, int64_t, int64_t, void (*)(int64_t, int64_t, void*), void*);
int torch_get_thread_idx(uint32_t*);
int torch_get_num_threads(uint32_t*);
void aoti_torch_warn(const char*, const char*, uint32_t, const char*);
int torch_parse_device_string(const char*, uint32_t*, int32_t*);
int aoti_torch_get_current_cuda_stream(int32_t, void**);
}

namespace {
void check(int status) {
  if (status != 0) throw std::runtime_error("some_function(x) API call failed at stable_cpp.cpp, line 1");
}
template <class T>
T* pointer(Word w) {
  return reinterpret_cast<T*>(w);
}
template <class T>
Word word(T* p) {
  return reinterpret_cast<Word>(p);
}
double number(Word w) {
  double d;
  std::memcpy(&d, &w, 8);
  return d;
}
Word word_of(double d) {
  Word w;
  std::memcpy(&w, &d, 8);
  return w;
}
struct Owned {
  explicit Owned(Word w) : t(pointer<Tensor>(w)) {}
  ~Owned() { aoti_torch_delete_tensor_object(t); }
  Tensor* t;
};

// scale(Tensor x, float by) -> Tensor: float64 only
void scale(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  const double by = number(stack[1]);
  Word inner[6] = {0, 0, 0, 0, 0, 0};
  Tensor* again;
  check(aoti_torch_new_tensor_handle(x.t, &again));
  inner[0] = word(again);
  check(torch_call_dispatcher("aten::empty_like", "", inner, 0));
  void *from, *to;
  int64_t n;
  check(aoti_torch_get_data_ptr(x.t, &from));
  check(aoti_torch_get_data_ptr(pointer<Tensor>(inner[0]), &to));
  check(aoti_torch_get_numel(x.t, &n));
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(to)[i] = static_cast<double*>(from)[i] * by;
  stack[0] = inner[0];
}

void scale_on_meta(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  int64_t n;
  check(aoti_torch_get_size(x.t, -1, &n));
  List* sizes;
  check(torch_new_list_reserve_size(1, &sizes));
  check(torch_list_push_back(sizes, static_cast<Word>(n + 100)));  // to be told from a fake of Python's
  Word* device;
  check(torch_new_stable_ivalue(&device));
  *device = static_cast<Word>(14) << 32 | 0xffffffff;
  Word inner[6] = {word(sizes), 0, 0, word(device), 0, 0};
  check(torch_call_dispatcher("aten::empty", "memory_format", inner, 0));
  stack[0] = inner[0];
}

// Each argument comes back as it is.
void echo(Word*, uint64_t n_args, uint64_t n_rets) {
  if (n_args != n_rets) throw std::runtime_error("the schema returns what it takes");
}

// twice(Tensor x) -> Tensor, of operators: differentiates through them
void twice(Word* stack, uint64_t, uint64_t) {
  Word inner[2] = {stack[0], word_of(2.0)};
  check(torch_call_dispatcher("aten::mul", "Scalar", inner, 0));
  stack[0] = inner[0];
}

// keyed(Tensor x) -> Tensor: which kernel it was
template <int Key>
void keyed(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  Tensor* number;
  check(aoti_torch_scalar_to_tensor_float64(Key, &number));
  stack[0] = word(number);
}

// wrong_dtype(Tensor x) -> Tensor: an argument whose number no element type has; what follows is given back
void wrong_dtype(Word* stack, uint64_t, uint64_t) {
  Word* dtype;
  check(torch_new_stable_ivalue(&dtype));
  *dtype = 77;
  Word inner[6] = {stack[0], word(dtype), 0, 0, 0, 0};
  check(torch_call_dispatcher("aten::empty_like", "", inner, 0));
  stack[0] = inner[0];
}

// add_one_(Tensor(a!) x) -> Tensor(a!)
void add_one(Word* stack, uint64_t, uint64_t) {
  void* data;
  int64_t n;
  check(aoti_torch_get_data_ptr(pointer<Tensor>(stack[0]), &data));
  check(aoti_torch_get_numel(pointer<Tensor>(stack[0]), &n));
  for (int64_t i = 0; i < n; ++i) static_cast<double*>(data)[i] += 1;
}

// add_one_to(float by, Tensor(a!) x) -> ()
void add_one_to(Word* stack, uint64_t, uint64_t n_rets) {
  const Owned x(stack[1]);
  Word inner[1] = {stack[1]};
  add_one(inner, 1, n_rets);
}

void throws(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  throw std::invalid_argument("the kernel does not want this");
}
struct Strange {};
void throws_strange(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  throw Strange();
}
// What it calls fails: the text of the failure is the reason.
void fails_inside(Word* stack, uint64_t, uint64_t) {
  Word inner[2] = {stack[0], 7};
  check(torch_call_dispatcher("aten::unsqueeze", "", inner, 0));
  stack[0] = inner[0];
}
void calls_nothing(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  Word inner[1] = {0};
  check(torch_call_dispatcher("aten::no_such_operator", "out", inner, 0));
}

// converted(Tensor x) -> Tensor: through an operator that is a function of Python
void converted(Word* stack, uint64_t, uint64_t) {
  Word* dtype;
  check(torch_new_stable_ivalue(&dtype));
  *dtype = static_cast<Word>(aoti_torch_dtype_float32());
  Word inner[8] = {stack[0], word(dtype), 0, 0, 0, 0, 0, 0};
  check(torch_call_dispatcher("aten::to", "dtype_layout", inner, 0));
  stack[0] = inner[0];
}

// optional(Tensor? x) -> Tensor?: what is undefined is None
void optional(Word* stack, uint64_t, uint64_t) {
  if (stack[0]) return;
  Tensor* nothing;
  check(aoti_torch_new_uninitialized_tensor(&nothing));
  Word* box;
  check(torch_new_stable_ivalue(&box));
  *box = word(nothing);
  stack[0] = word(box);
}

// threads(int n, int grain) -> int[]: the thread of each number, and how many there are
struct Job {
  int64_t* threads;
};
void note_thread(int64_t begin, int64_t end, void* ctx) {
  uint32_t thread;
  check(torch_get_thread_idx(&thread));
  for (int64_t i = begin; i < end; ++i) static_cast<Job*>(ctx)->threads[i] = thread;
}
void threads(Word* stack, uint64_t, uint64_t) {
  const auto n = static_cast<int64_t>(stack[0]), grain = static_cast<int64_t>(stack[1]);
  std::vector<int64_t> each(static_cast<size_t>(n));
  Job job{each.data()};
  check(torch_parallel_for(0, n, grain, note_thread, &job));
  uint32_t count;
  check(torch_get_num_threads(&count));
  List* list;
  check(torch_new_list_reserve_size(each.size() + 1, &list));
  for (const int64_t t : each) check(torch_list_push_back(list, static_cast<Word>(t)));
  check(torch_list_push_back(list, count));
  stack[0] = word(list);
}
void fail_in_chunk(int64_t begin, int64_t, void*) {
  if (begin) throw std::runtime_error("chunk " + std::to_string(begin));
}
void fails_in_chunks(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  if (torch_parallel_for(0, 100, 50, fail_in_chunk, nullptr) != 0)
    throw std::runtime_error(torch_exception_get_what_without_backtrace());
}

// blob(int n) -> Tensor: memory of this library, which learns when it is free
int64_t g_freed = 0;
void free_blob(void* data, void* ctx) {
  delete[] static_cast<double*>(data);
  g_freed += *static_cast<int64_t*>(ctx);
  delete static_cast<int64_t*>(ctx);
}
void blob(Word* stack, uint64_t, uint64_t) {
  const auto n = static_cast<int64_t>(stack[0]);
  auto* data = new double[static_cast<size_t>(n) + 1];
  for (int64_t i = 0; i <= n; ++i) data[i] = static_cast<double>(i);
  const int64_t stride = 1;
  Tensor* t;
  check(torch_from_blob(data, 1, &n, &stride, 1, aoti_torch_dtype_float64(), 0, -1, &t, 0, nullptr, 0,
                        free_blob, new int64_t(n)));
  stack[0] = word(t);
}
void freed(Word* stack, uint64_t, uint64_t) { stack[0] = static_cast<Word>(g_freed); }

// facts(Tensor x) -> (int, Tensor, str): an element as a number, a number as a tensor, a name of a device
void facts(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  int64_t item;
  check(aoti_torch_item_int64(x.t, &item));
  Tensor *made, *box;
  check(aoti_torch_scalar_to_tensor_float64(2.5, &made));
  check(aoti_torch_new_uninitialized_tensor(&box));
  bool before, after;
  check(aoti_torch_is_defined(box, &before));
  check(aoti_torch_assign_tensors(made, box));
  check(aoti_torch_is_defined(box, &after));
  check(aoti_torch_delete_tensor_object(made));
  uint32_t type;
  int32_t index;
  check(torch_parse_device_string("cuda:3", &type, &index));
  const std::string text = std::to_string(before) + std::to_string(after) + " " + std::to_string(type) + ":" +
                           std::to_string(index);
  String* string;
  check(torch_new_string_handle(text.data(), text.size(), &string));
  stack[0] = static_cast<Word>(item);
  stack[1] = word(box);
  stack[2] = word(string);
}

void warns(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  aoti_torch_warn("warns", "stable_cpp.cpp", 1, "the kernel has doubts");
}
void asks_cuda(Word* stack, uint64_t, uint64_t) {
  const Owned x(stack[0]);
  void* stream;
  if (aoti_torch_get_current_cuda_stream(0, &stream) != 0)
    throw std::runtime_error(torch_exception_get_what_without_backtrace());
}

constexpr const char* kSchemas[] = {
    "scale(Tensor x, float by) -> Tensor",
    "plain(Tensor t, bool b, int i, float f, str s, ScalarType d, Device v, MemoryFormat m) -> (Tensor, "
    "bool, int, "
    "float, str, ScalarType, Device, MemoryFormat)",
    "optionals(Tensor? t, int? i, float? f, str? s, int[]? n, Device? v) -> (Tensor?, int?, float?, str?, "
    "int[]?, "
    "Device?)",
    "lists(Tensor[] t, Tensor?[] o, int[] i, float[] f, bool[] b) -> (Tensor[], Tensor?[], int[], float[], "
    "bool[])",
    "stabletest::twice(Tensor x) -> Tensor",
    "stabletest::everywhere(Tensor x) -> Tensor",
    "add_one_(Tensor(a!) x) -> Tensor(a!)",
    "add_one_to(float by, Tensor(a!) x) -> ()",
    "throws(Tensor x) -> Tensor",
    "throws_strange(Tensor x) -> Tensor",
    "fails_inside(Tensor x) -> Tensor",
    "calls_nothing(Tensor x) -> ()",
    "converted(Tensor x) -> Tensor",
    "optional(Tensor? x) -> Tensor?",
    "threads(int n, int grain) -> int[]",
    "fails_in_chunks(Tensor x) -> ()",
    "blob(int n) -> Tensor",
    "freed() -> int",
    "facts(Tensor x) -> (int, Tensor, str)",
    "warns(Tensor x) -> ()",
    "asks_cuda(Tensor x) -> ()",
    "no_kernel(Tensor x) -> Tensor",
    "keyed(Tensor x) -> Tensor",
    "wrong_dtype(Tensor x) -> Tensor",
};

struct Implementation {
  const char *key, *name;
  Boxed function;
};
constexpr Implementation kEarly[] = {
    {"CPU", "scale", scale}, {"CUDA", "scale", scale}, {"Meta", "scale", scale_on_meta}};
constexpr Implementation kLate[] = {
    {"CompositeExplicitAutograd", "plain", echo},
    {"CompositeExplicitAutograd", "optionals", echo},
    {"CompositeExplicitAutograd", "lists", echo},
    {"CompositeImplicitAutograd", "twice", twice},
    {"", "everywhere", twice},
    {"CPU", "add_one_", add_one},
    {"CPU", "add_one_to", add_one_to},
    {"CPU", "throws", throws},
    {"CPU", "throws_strange", throws_strange},
    {"CPU", "fails_inside", fails_inside},
    {"CPU", "calls_nothing", calls_nothing},
    {"CPU", "converted", converted},
    {"CompositeExplicitAutograd", "optional", optional},
    {"CompositeExplicitAutograd", "threads", threads},
    {"CPU", "fails_in_chunks", fails_in_chunks},
    {"CompositeExplicitAutograd", "blob", blob},
    {"CompositeExplicitAutograd", "freed", freed},
    {"CPU", "facts", facts},
    {"CPU", "warns", warns},
    {"CPU", "asks_cuda", asks_cuda},
    {"CPU", "keyed", keyed<1>},
    {"Autograd", "keyed", keyed<2>},
    {"CompositeExplicitAutograd", "keyed", keyed<3>},
    {"XPU", "keyed", keyed<4>},
    {"CPU", "wrong_dtype", wrong_dtype},
};

void implement(const Implementation& i) {
  Library* library;
  aoti_torch_library_init_impl("stabletest", i.key, __FILE__, __LINE__, &library);
  torch_library_impl(library, i.name, i.function, 0);
}

struct Registration {
  Registration() {
    for (const auto& i : kEarly) implement(i);
    Library* library;
    aoti_torch_library_init_def("stabletest", __FILE__, __LINE__, &library);
    for (const char* schema : kSchemas) aoti_torch_library_def(library, schema);
    for (const auto& i : kLate) implement(i);
    aoti_torch_library_init_fragment("stabletest", __FILE__, __LINE__, &library);
    const int32_t tags[] = {torch_tag_pointwise()};
    torch_library_def_with_tags(library, "tagged(Tensor x) -> Tensor", tags, 1);
  }
} const g_registration;
}  // namespace
