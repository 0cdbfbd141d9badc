# The native code without Python: core_rows and core_math, for the extension modules and for the C++ tests.
include_guard(GLOBAL)
set(core_dir "${CMAKE_CURRENT_LIST_DIR}/../src/_core")

if(POINCARE_OPENMP AND NOT APPLE) # several OpenMP runtimes in one macOS process crash: serial there
  find_package(OpenMP COMPONENTS CXX)
endif()

# Row kernels stand alone: the graph shares them, and stays free of OpenMP.
add_library(core_rows STATIC ${core_dir}/cpu.cpp ${core_dir}/interrupt.cpp ${core_dir}/rows.cpp)

add_library(core_math STATIC
  ${core_dir}/ball.cpp
  ${core_dir}/batch_reach.cpp
  ${core_dir}/batch_scan.cpp
  ${core_dir}/batch_surface.cpp
  ${core_dir}/blake2b.cpp
  ${core_dir}/codes.cpp
  ${core_dir}/cone_members.cpp
  ${core_dir}/cone_training.cpp
  ${core_dir}/cones.cpp
  ${core_dir}/decay.cpp
  ${core_dir}/decimal.cpp
  ${core_dir}/digest.cpp
  ${core_dir}/embeddings.cpp
  ${core_dir}/hashing.cpp
  ${core_dir}/instants.cpp
  ${core_dir}/layout_quality.cpp
  ${core_dir}/lorentz.cpp
  ${core_dir}/maps.cpp
  ${core_dir}/margin.cpp
  ${core_dir}/near_screen.cpp
  ${core_dir}/neighbourhoods.cpp
  ${core_dir}/optimistic.cpp
  ${core_dir}/pair_distances.cpp
  ${core_dir}/pairwise.cpp
  ${core_dir}/placement.cpp
  ${core_dir}/products.cpp
  ${core_dir}/reconstruction.cpp
  ${core_dir}/relaxation.cpp
  ${core_dir}/sampling.cpp
  ${core_dir}/sarkar.cpp
  ${core_dir}/scan.cpp
  ${core_dir}/spreading.cpp
  ${core_dir}/sqlite_reader.cpp
  ${core_dir}/threads.cpp
  ${core_dir}/training.cpp
  ${core_dir}/tree.cpp
  ${core_dir}/writeback.cpp)
set_target_properties(core_rows core_math PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(core_rows PUBLIC ${core_dir})
target_link_libraries(core_math PUBLIC core_rows ${CMAKE_DL_LIBS})
if(OpenMP_CXX_FOUND)
  target_link_libraries(core_math PUBLIC OpenMP::OpenMP_CXX)
endif()

# Our own translation units are held to every warning; the file that Cython writes is not ours.
if(MSVC)
  set(core_warning_flags /W4)
  set(error_flag /WX)
else()
  set(core_warning_flags -Wall -Wextra -Wpedantic -Wshadow -Wdouble-promotion)
  set(error_flag -Werror)
endif()
if(POINCARE_WARNINGS_AS_ERRORS)
  list(APPEND core_warning_flags ${error_flag})
endif()
foreach(target core_rows core_math)
  target_compile_options(${target} PRIVATE ${core_warning_flags})
endforeach()
if(NOT MSVC)
  # errno and floating-point traps are never read here; the rest of IEEE arithmetic stays as it is.
  foreach(target core_rows core_math)
    target_compile_options(${target} PRIVATE -fno-math-errno -fno-trapping-math -ffp-contract=off)
  endforeach()
  # Its sums are only bounds.
  set_source_files_properties(${core_dir}/near_screen.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=fast)
endif()
