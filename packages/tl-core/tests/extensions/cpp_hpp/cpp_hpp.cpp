// An extension in C++ on tl/tl.hpp: a device backed by host memory, and operators written with exceptions.
//
// The device's memory is scrambled, so that nobody can read it without asking the device: a kernel of the
// core that did would compute garbage.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tl/tl.hpp>

namespace {

// ---- the device "toy" -------------------------------------------------------------------------------------
constexpr unsigned char kScramble = 0x5a;
std::atomic<int64_t> g_live{0}, g_allocations{0}, g_kernel_calls{0};

int allocate(void*, int, size_t bytes, TlAllocation* out) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) {
    tl::api().error_set(TL_ERROR_OUT_OF_MEMORY, "toy: out of memory");
    return -1;
  }
  g_live += static_cast<int64_t>(bytes);
  ++g_allocations;
  *out = {memory, memory};
  return 0;
}

void release(void*, int, TlAllocation allocation, size_t bytes) {
  g_live -= static_cast<int64_t>(bytes);
  std::free(allocation.ctx);
}

void scramble(void* to, const void* from, size_t bytes) {
  auto* out = static_cast<unsigned char*>(to);
  auto* in = static_cast<const unsigned char*>(from);
  for (size_t i = 0; i < bytes; ++i) out[i] = in[i] ^ kScramble;
}
int copy_to_host(void*, int, void* host, const void* device, size_t bytes) {
  return scramble(host, device, bytes), 0;
}
int copy_from_host(void*, int, void* device, const void* host, size_t bytes) {
  return scramble(device, host, bytes), 0;
}
int copy_within(void*, int, void* to, const void* from, size_t bytes) {
  return std::memcpy(to, from, bytes), 0;
}

int register_toy() {
  TlDeviceDef def{};
  def.struct_size = sizeof def;
  def.name = "toy";
  def.device_count = 2;
  def.allocate = allocate;
  def.free = release;
  def.copy_to_host = copy_to_host;
  def.copy_from_host = copy_from_host;
  def.copy_within = copy_within;
  def.cpu_fallback = 1;
  int type = 0;
  tl::check(tl::api().device_register(&def, &type));
  return type;
}

// ---- kernels of the device --------------------------------------------------------------------------------
float load(const float* at) {
  float x;
  scramble(&x, at, sizeof x);
  return x;
}
void store(float* at, float x) { scramble(at, &x, sizeof x); }

bool is_simple(const tl::Tensor& t) { return t.is_contiguous() && t.dtype() == tl::dtype_of<float>; }

bool same_sizes(const tl::Tensor& a, const tl::Tensor& b) {
  if (a.dim() != b.dim()) return false;
  for (int d = 0; d < a.dim(); ++d)
    if (a.sizes()[d] != b.sizes()[d]) return false;
  return true;
}

// Two dense float tensors of one shape; anything else is left to the CPU.
template <class F>
void binary(void* ctx, tl::Arguments args, tl::Results rets, F f) {
  auto* op = static_cast<const TlOperator*>(ctx);
  const bool both = args.is_tensor(0) && args.is_tensor(1);
  const tl::Tensor a = both ? args.tensor(0) : tl::Tensor(), b = both ? args.tensor(1) : tl::Tensor();
  if (!both || a.device() != b.device() || !is_simple(a) || !is_simple(b) || !same_sizes(a, b)) {
    tl::check(tl::api().op_call_on_host(op, args.data(), args.size(), rets.data(), rets.size()));
    return;
  }
  ++g_kernel_calls;
  tl::Tensor out = tl::Tensor::empty(a.sizes(), a.dtype(), a.device());
  const float *x = a.elements<float>(), *y = b.elements<float>();
  float* z = out.elements<float>();
  tl::parallel_for(0, a.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) store(z + i, f(load(x + i), load(y + i)));
  });
  rets.set(0, out);
}

void add(void* ctx, tl::Arguments args, tl::Results rets) {
  const float alpha = static_cast<float>(args.number(2));
  binary(ctx, args, rets, [=](float x, float y) { return x + alpha * y; });
}
void multiply(void* ctx, tl::Arguments args, tl::Results rets) {
  binary(ctx, args, rets, [](float x, float y) { return x * y; });
}

void add_kernel(int device, const char* name, TlCall call) {
  tl::register_kernel(name, device, call, const_cast<TlOperator*>(tl::Operator::find(name).handle()));
}

// ---- operators --------------------------------------------------------------------------------------------
// hpp::positive_part(Tensor self): throws what C++ throws.
void positive_part(void*, tl::Arguments args, tl::Results rets) {
  const tl::Tensor in = args.tensor(0);
  if (in.dim() == 0) throw std::runtime_error("hpp::positive_part: a 0-d tensor has no parts");
  rets.set(0, tl::Operator::find("clamp_min")(in, 0));
}

// hpp::halves(Tensor self) -> Tensor[]
void halves(void*, tl::Arguments args, tl::Results rets) {
  const tl::Tensor in = args.tensor(0);
  const int64_t n = in.sizes()[0], middle = n / 2;
  const tl::Operator slice = tl::Operator::find("slice.Tensor");
  const tl::Value first = slice(in, 0, int64_t{0}, middle, 1), second = slice(in, 0, middle, n, 1);
  rets.set(0, tl::Value::copy(tl::value(std::vector<TlTensor*>{first.get().u.t, second.get().u.t})));
}

// hpp::throw_in_chunk(Tensor self): the exception of a helper thread arrives here.
void throw_in_chunk(void*, tl::Arguments args, tl::Results rets) {
  const tl::Tensor in = args.tensor(0);
  tl::parallel_for(0, in.numel(), 1, [](int64_t begin, int64_t) {
    if (begin >= 2) throw tl::Error(TL_ERROR_INDEX, "chunk " + std::to_string(begin) + " has no element");
  });
  rets.set(0, in);
}

// ---- the module -------------------------------------------------------------------------------------------
PyObject* call(PyObject*, PyObject* args) {
  const char* name;
  PyObject* argument;
  if (!PyArg_ParseTuple(args, "sO", &name, &argument)) return nullptr;
  return tl::to_python([&]() -> PyObject* {
    TlTensor* t = tl::python().unwrap(argument);
    if (!t) throw tl::Error(TL_ERROR_TYPE, "expected a tensor");
    TlValue result = tl::Operator::find(name)(t).release();
    return tl::python().from_value(&result);
  });
}

PyObject* statistics(PyObject*, PyObject*) {
  return Py_BuildValue("(LLL)", g_live.load(), g_allocations.load(), g_kernel_calls.load());
}

PyMethodDef g_methods[] = {
    {"call", call, METH_VARARGS, nullptr},
    {"statistics", statistics, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "cpp_hpp", nullptr, -1, g_methods, nullptr, nullptr, nullptr, nullptr};

void register_all() {
  const int toy = register_toy();
  add_kernel(toy, "add.Tensor", tl::boxed<add>);
  add_kernel(toy, "mul.Tensor", tl::boxed<multiply>);
  tl::register_operator("hpp::positive_part(Tensor self) -> Tensor", tl::boxed<positive_part>);
  tl::register_operator("hpp::halves(Tensor self) -> Tensor[]", tl::boxed<halves>);
  tl::register_operator("hpp::throw_in_chunk(Tensor self) -> Tensor", tl::boxed<throw_in_chunk>);
}

}  // namespace

PyMODINIT_FUNC PyInit_cpp_hpp() {
  if (!tl::load(0)) return nullptr;
  if (tl::guarded(register_all) != 0) {
    tl::python().raise_pending();
    return nullptr;
  }
  return PyModule_Create(&g_module);
}
