// webgpu-info: what ggml-webgpu finds on this machine, and with --why what it cannot compute there and for which reason.
#include "gpu/adapter.h"
#include "ops/plan.h"

#include <ggml.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>

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

//
// what cannot be computed
//

// Ops that know about types, each applied to small tensors of `type`. Rows of 256 values hold whole blocks of any type.
struct probe {
    const char * name;
    ggml_tensor * (*make)(ggml_context * c, ggml_type type);
};

static ggml_tensor * floats(ggml_context * c, int64_t ne0, int64_t ne1, int64_t ne2 = 1) {
    return ggml_new_tensor_3d(c, GGML_TYPE_F32, ne0, ne1, ne2);
}

static constexpr probe probes[] = {
    { "GET_ROWS",
      [](ggml_context * c, ggml_type t) { return ggml_get_rows(c, ggml_new_tensor_2d(c, t, 256, 8), ggml_new_tensor_1d(c, GGML_TYPE_I32, 4)); } },
    { "SET_ROWS",
      [](ggml_context * c, ggml_type t) {
          return ggml_set_rows(c, ggml_new_tensor_2d(c, t, 256, 8), floats(c, 256, 4), ggml_new_tensor_1d(c, GGML_TYPE_I64, 4));
      } },
    { "CPY from", [](ggml_context * c, ggml_type t) { return ggml_cpy(c, ggml_new_tensor_2d(c, t, 256, 8), floats(c, 256, 8)); } },
    { "CPY to", [](ggml_context * c, ggml_type t) { return ggml_cpy(c, floats(c, 256, 8), ggml_new_tensor_2d(c, t, 256, 8)); } },
    { "MUL_MAT", [](ggml_context * c, ggml_type t) { return ggml_mul_mat(c, ggml_new_tensor_2d(c, t, 256, 64), floats(c, 256, 32)); } },
    { "MUL_MAT_ID",
      [](ggml_context * c, ggml_type t) {
          return ggml_mul_mat_id(c, ggml_new_tensor_3d(c, t, 256, 64, 4), floats(c, 256, 2, 8), ggml_new_tensor_2d(c, GGML_TYPE_I32, 2, 8));
      } },
    { "OUT_PROD", [](ggml_context * c, ggml_type t) { return ggml_out_prod(c, ggml_new_tensor_2d(c, t, 256, 16), floats(c, 64, 16)); } },
    { "FLASH_ATTN_EXT",
      [](ggml_context * c, ggml_type t) {
          return ggml_flash_attn_ext(c, floats(c, 256, 8, 4), ggml_new_tensor_3d(c, t, 256, 512, 4), ggml_new_tensor_3d(c, t, 256, 512, 4), nullptr,
                                     0.0625f, 0.0f, 0.0f);
      } },
};

static void print_missing_ops(const gpu::capabilities & caps) {
    std::printf("  ops without a kernel:");
    for (int op = 0; op < GGML_OP_COUNT; op++) {
        ggml_tensor empty = {};  // so that only the op is looked at
        empty.op          = static_cast<ggml_op>(op);
        if (!ops::plan_node(caps, &empty).supported()) {
            std::printf(" %s", ggml_op_name(empty.op));
        }
    }
    std::printf("\n");
}

static void print_missing_types(const gpu::capabilities & caps) {
    for (const probe & p : probes) {
        std::printf("  %s:\n", p.name);
        for (int i = 0; i < GGML_TYPE_COUNT; i++) {
            const auto type = static_cast<ggml_type>(i);
            if (ggml_blck_size(type) == 0) {
                continue;  // a number no longer in use
            }
            std::unique_ptr<ggml_context, decltype(&ggml_free)> context(ggml_init({ 8 * ggml_tensor_overhead(), nullptr, true }), ggml_free);
            const ops::plan plan = ops::plan_node(caps, p.make(context.get(), type));
            if (!plan.supported()) {
                std::printf("    %-8s %s\n", ggml_type_name(type), plan.why.c_str());
            }
        }
    }
}

static gpu::status list(bool why) {
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
        const gpu::capabilities & caps = (*adapters)[i]->caps();
        print(i, caps);
        if (why) {
            print_missing_ops(caps);
            print_missing_types(caps);
        }
    }
    return {};
}

int main(int argc, char ** argv) {
    const bool why = argc == 2 && std::strcmp(argv[1], "--why") == 0;
    if (argc > 1 && !why) {
        std::fprintf(stderr, "usage: webgpu-info [--why]\n");
        return 2;
    }
    const gpu::status listed = list(why);
    if (!listed.ok()) {
        std::fprintf(stderr, "webgpu-info: %s\n", listed.text().c_str());
    }
    return listed.ok() ? 0 : 1;
}
