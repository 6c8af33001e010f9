// Loads LAPACK with dlopen and finds its routines under the names that the wheels of OpenBLAS give them.
#include "base/lapack.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "base/error.h"

namespace tl::lapack {

namespace {
struct Names {
  const char* real;
  const char* complex;  // null: there is none
};
constexpr Names kNames[kRoutines] = {
    {"getrf", "getrf"}, {"getrs", "getrs"}, {"getri", "getri"}, {"potrf", "potrf"}, {"potrs", "potrs"},
    {"potri", "potri"}, {"geqrf", "geqrf"}, {"orgqr", "ungqr"}, {"ormqr", "unmqr"}, {"gesdd", "gesdd"},
    {"gesvd", "gesvd"}, {"syevd", "heevd"}, {"geev", "geev"},   {"gels", "gels"},   {"gelsy", "gelsy"},
    {"gelsd", "gelsd"}, {"gelss", "gelss"}, {"sytrf", "sytrf"}, {nullptr, "hetrf"}, {"sytrs", "sytrs"},
    {nullptr, "hetrs"}, {"trsm", "trsm"},
};

// How a library decorates `dgetrf`: OpenBLAS built plainly, the scipy-openblas wheels, and their 64-bit
// forms.
struct Decoration {
  const char* prefix;
  const char* suffix;
  const char* control_suffix;  // of openblas_set_num_threads
  bool long_integers;
};
constexpr Decoration kDecorations[] = {
    {"scipy_", "_", "", false}, {"scipy_", "_64_", "64_", true}, {"", "_", "", false},
    {"", "_64_", "64_", true},  {"", "64_", "64_", true},
};

std::atomic<const Library*> g_library{nullptr};
std::atomic<Finder> g_finder{nullptr};
std::mutex g_threads_mutex;
int g_threads_users = 0, g_threads_before = 0;

std::string symbol_name(const Decoration& d, const char* type, const char* routine) {
  return std::string(d.prefix) + type + routine + d.suffix;
}

const Decoration* decoration_of(void* handle) {
  for (const Decoration& d : kDecorations)
    if (dlsym(handle, symbol_name(d, "d", "getrf").c_str())) return &d;
  return nullptr;
}

void* routine_of(void* handle, const Decoration& d, int type, const Names& names, const char* path) {
  static constexpr const char* kPrefixes[kTypes] = {"s", "d", "c", "z"};
  const char* name = type < 2 ? names.real : names.complex;
  if (!name) return nullptr;
  const std::string symbol = symbol_name(d, kPrefixes[type], name);
  void* found = dlsym(handle, symbol.c_str());
  TL_CHECK(found, Runtime, "the library ", path, " lacks LAPACK's ", symbol);
  return found;
}
}  // namespace

const Library* loaded() { return g_library.load(std::memory_order_acquire); }

void load(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  TL_CHECK(handle, Runtime, "LAPACK cannot be loaded: ", std::string(dlerror()));
  const Decoration* d = decoration_of(handle);
  TL_CHECK(d, Runtime, "the library ", path, " holds no LAPACK: it has no dgetrf under any usual name");
  auto library = new Library;  // in use until the process ends
  library->path = path;
  library->long_integers = d->long_integers;
  for (int r = 0; r < kRoutines; ++r)
    for (int t = 0; t < kTypes; ++t) library->routines[r][t] = routine_of(handle, *d, t, kNames[r], path);
  const std::string control = std::string(d->prefix) + "openblas_set_num_threads" + d->control_suffix;
  const std::string query = std::string(d->prefix) + "openblas_get_num_threads" + d->control_suffix;
  library->set_threads = reinterpret_cast<void (*)(int)>(dlsym(handle, control.c_str()));
  library->get_threads = reinterpret_cast<int (*)()>(dlsym(handle, query.c_str()));
  g_library.store(library, std::memory_order_release);
}

void set_finder(Finder finder) { g_finder = finder; }

const Library* find() {
  const Finder finder = g_finder;
  if (!loaded() && finder) finder();
  return loaded();
}

const Library& require(const char* function) {
  const Library* library = find();
  TL_CHECK(library, Runtime, function,
           ": needs LAPACK, and none was found; install it with pip install scipy-openblas32 (or "
           "tl-core[lapack]), or name a shared library in the environment variable TL_LAPACK");
  return *library;
}

// OpenBLAS keeps one number of threads for the process: it is 1 while any of our calls runs, and then what it
// was.
SingleThreaded::SingleThreaded(const Library& library) : library_(library) {
  if (!library_.set_threads || !library_.get_threads) return;
  const std::lock_guard lock(g_threads_mutex);
  if (g_threads_users++) return;
  g_threads_before = library_.get_threads();
  if (g_threads_before != 1) library_.set_threads(1);
}

SingleThreaded::~SingleThreaded() {
  if (!library_.set_threads || !library_.get_threads) return;
  const std::lock_guard lock(g_threads_mutex);
  if (--g_threads_users == 0 && g_threads_before != 1) library_.set_threads(g_threads_before);
}

}  // namespace tl::lapack
