// webgpu-info: what ggml-webgpu finds on this machine and what it can use there.
#include "gpu/adapter.h"

#include <cinttypes>
#include <cstdio>

static const char * name_of(gpu::capabilities::kind kind) {
    switch (kind) {
        case gpu::capabilities::kind::discrete: return "discrete";
        case gpu::capabilities::kind::integrated: return "integrated";
        case gpu::capabilities::kind::software: return "software";
    }
    return "";
}

static const char * yes_no(bool value) {
    return value ? "yes" : "no";
}

static void print(size_t index, const gpu::capabilities & caps) {
    std::printf("WebGPU%zu: %s\n", index, caps.name.c_str());
    std::printf("  type                %s\n", name_of(caps.type));
    std::printf("  vendor              %s\n", caps.vendor.c_str());
    std::printf("  architecture        %s\n", caps.architecture.c_str());
    std::printf("  driver              %s\n", caps.driver.c_str());
    std::printf("  memory              %" PRIu64 " MiB\n", caps.memory >> 20);
    std::printf("  largest buffer      %" PRIu64 " MiB\n", caps.max_buffer >> 20);
    std::printf("  largest binding     %" PRIu64 " MiB\n", caps.max_binding >> 20);
    std::printf("  bindings a kernel   %u\n", caps.max_storage_buffers);
    std::printf("  alignment           %u bytes storage, %u bytes uniform\n", caps.storage_alignment, caps.uniform_alignment);
    std::printf("  workgroup           %u threads, %u bytes of shared memory\n", caps.max_threads, caps.workgroup_memory);
    std::printf("  f16                 %s\n", yes_no(caps.f16));
    std::printf("  packed dot product  %s\n", yes_no(caps.packed_dot));
    std::printf("  timestamps          %s\n", yes_no(caps.timestamps));
    if (caps.subgroups) {
        std::printf("  subgroups           %u to %u threads\n", caps.subgroup_min, caps.subgroup_max);
    } else {
        std::printf("  subgroups           no\n");
    }
    std::printf("  subgroup matrices  %s", caps.subgroup_matrix() ? "" : " no");
    for (const gpu::matrix_config & m : caps.matrices) {
        std::printf(" %ux%ux%u->%s", m.m, m.n, m.k, m.f32_result ? "f32" : "f16");
    }
    std::printf("\n");
}

static gpu::status list() {
    auto user = gpu::read_settings();
    if (!user.ok()) {
        return user.why();
    }
    auto library = gpu::load_library(user->library);
    if (!library.ok()) {
        return library.why();
    }
    std::printf("library: %s (%s)\n", gpu::wgpu().path.c_str(), gpu::wgpu().implementation.c_str());
    auto adapters = gpu::find_adapters(*user);
    if (!adapters.ok()) {
        return adapters.why();
    }
    for (size_t i = 0; i < adapters->size(); i++) {
        print(i, (*adapters)[i]->caps());
    }
    return {};
}

int main() {
    const gpu::status listed = list();
    if (!listed.ok()) {
        std::fprintf(stderr, "webgpu-info: %s\n", listed.text().c_str());
    }
    return listed.ok() ? 0 : 1;
}
