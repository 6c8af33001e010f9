# find_package(Torch) of extensions: the headers under PyTorch's names. There is no library to link to.
#
# The targets `torch` and `torch_library` and the variables TORCH_INCLUDE_DIRS, TORCH_LIBRARIES and TORCH_CXX_FLAGS
# are those of PyTorch. CMAKE_PREFIX_PATH is `torch.utils.cmake_prefix_path`.
get_filename_component(TORCH_INSTALL_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND)
  set(Torch_FOUND FALSE)
  set(Torch_NOT_FOUND_MESSAGE "the headers of Python, which the headers of tl include, are not installed")
  return()
endif()

set(TORCH_INCLUDE_DIRS "${TORCH_INSTALL_PREFIX}/include" "${Python3_INCLUDE_DIRS}")
set(TORCH_LIBRARIES torch)
set(TORCH_CXX_FLAGS "-fvisibility=hidden")
foreach(name torch torch_library)
  if(NOT TARGET ${name})
    add_library(${name} INTERFACE IMPORTED)
    set_target_properties(
      ${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS}" INTERFACE_COMPILE_FEATURES cxx_std_17
                         INTERFACE_COMPILE_OPTIONS "${TORCH_CXX_FLAGS}")
  endif()
endforeach()
set(Torch_FOUND TRUE)
set(TORCH_FOUND TRUE)
