# find_package(Dawn) for a build of ggml's own WebGPU backend: the library and headers that ours uses too.
add_library(dawn::webgpu_dawn SHARED IMPORTED)
set_target_properties(dawn::webgpu_dawn PROPERTIES
    IMPORTED_LOCATION             ${WEBGPU_LIBRARY}
    IMPORTED_NO_SONAME            OFF
    INTERFACE_INCLUDE_DIRECTORIES ${WEBGPU_HEADERS_DIR})
