// LAPACK of a shared library that is loaded when it is first needed: a table of its routines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tl::lapack {

// Names of the real types' routines; those of complex types that are called otherwise (ungqr, heevd) stand in
// the same row.
enum class Routine : uint8_t {
  Getrf,
  Getrs,
  Getri,
  Potrf,
  Potrs,
  Potri,
  Geqrf,
  Orgqr,
  Ormqr,
  Gesdd,
  Gesvd,
  Syevd,
  Geev,
  Gels,
  Gelsy,
  Gelsd,
  Gelss,
  Sytrf,
  Hetrf,
  Sytrs,
  Hetrs,
  Trsm,
};
inline constexpr int kRoutines = 22;
inline constexpr int kTypes = 4;  // float, double and their complex types

// Fortran passes everything by address. Integers are given as 64-bit ones: a library of 32-bit integers reads
// their lower half, as both are little-endian; `integer` reads back what a routine has written.
struct Library {
  void* routines[kRoutines][kTypes] = {};
  bool long_integers = false;
  void (*set_threads)(int) = nullptr;
  int (*get_threads)() = nullptr;
  std::string path;

  int64_t integer(int64_t written) const {
    return long_integers ? written : static_cast<int32_t>(written & 0xffffffff);
  }
  template <class... Args>
  void call(Routine routine, int type, Args... args) const {
    reinterpret_cast<void (*)(Args...)>(routines[static_cast<int>(routine)][type])(args...);
  }
};

// The library in use; none was needed so far if it is null.
const Library* loaded();
// Uses the shared library at `path`; raises RuntimeError if it can't be opened or lacks a routine.
void load(const char* path);
// Calls load() with the path of a library that is found; does nothing if there is none. The binding fills
// this in.
using Finder = void (*)();
void set_finder(Finder finder);
// The library, found if need be; raises RuntimeError, naming the function and what to install, if there is
// none.
const Library& require(const char* function);
// The same without the error: null if there is none.
const Library* find();

// Within its life the library's calls run on the thread that makes them.
class SingleThreaded {
 public:
  explicit SingleThreaded(const Library& library);
  ~SingleThreaded();
  SingleThreaded(const SingleThreaded&) = delete;
  SingleThreaded& operator=(const SingleThreaded&) = delete;

 private:
  const Library& library_;
};

}  // namespace tl::lapack
