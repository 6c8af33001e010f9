# What the native packages of this repository share: how their C++ is compiled. Included after project(); an sdist of
# another package carries a copy.
#
#   TL_SANITIZE      OFF, address (with UBSan) or thread
#   TL_CCACHE        compile through ccache where it is installed
#   tl_flags         the target every translation unit is compiled with
#   tl_module(...)   the extension module _C
#   tl_precompile()  headers read once for all files of a target
#   tl_assertions()  checks of the library's containers, in a build with sanitizers

set(TL_SANITIZE OFF CACHE STRING "Sanitizers to build with, and then without free lists: OFF, address (with UBSan), thread")
option(TL_CCACHE "Compile through ccache when it is installed" ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON) # vector types and attributes of gcc and clang
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(TL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT DEFINED ENV{CCACHE_DISABLE})
  find_program(ccache_program ccache)
  if(ccache_program)
    # Paths below the repository are relative, pybind11's in its .venv too: checkouts in different folders share the cache.
    get_filename_component(repository "${CMAKE_CURRENT_SOURCE_DIR}/../.." ABSOLUTE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${repository}"
        CCACHE_NOHASHDIR=1 "${ccache_program}")
  endif()
endif()

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
set(PYBIND11_FINDPYTHON ON)
find_package(pybind11 3 CONFIG REQUIRED)

add_library(tl_flags INTERFACE)
target_compile_options(tl_flags INTERFACE -Wall -Wextra -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(TL_SANITIZE STREQUAL "address")
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
elseif(TL_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread)
elseif(TL_SANITIZE)
  message(FATAL_ERROR "TL_SANITIZE must be OFF, address or thread, not ${TL_SANITIZE}")
endif()
if(TL_SANITIZE)
  target_compile_definitions(tl_flags INTERFACE TL_NO_FREELISTS)
  target_compile_options(tl_flags INTERFACE -g1 -O1 -fno-omit-frame-pointer ${sanitizers})
  target_link_options(tl_flags INTERFACE ${sanitizers})
endif()

# tl_precompile(<target> <header>...). A compiler cache already spares the reading, and what is precompiled would be
# strange to it: one of the two. So every file names the headers it needs.
function(tl_precompile target)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# tl_assertions(<target>). Within a list that stands in its object no sanitizer sees an index that is too large.
function(tl_assertions target)
  if(TL_SANITIZE)
    target_compile_definitions(${target} PRIVATE _GLIBCXX_ASSERTIONS)
  endif()
endfunction()

# tl_module(<source>...): the extension module, which exports only what csrc/exports.map names.
function(tl_module)
  pybind11_add_module(_C MODULE NO_EXTRAS ${ARGN})
  target_link_libraries(_C PRIVATE tl_flags)
  tl_assertions(_C)
  set(exports "${CMAKE_CURRENT_SOURCE_DIR}/csrc/exports.map")
  target_link_options(_C PRIVATE "-Wl,--version-script=${exports}" -Wl,--as-needed)
  set_target_properties(_C PROPERTIES LINK_DEPENDS "${exports}")
endfunction()
