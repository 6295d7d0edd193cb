// ggml's buffer interface, through its public functions.
#include "host.h"

#include <algorithm>
#include <numeric>

using test::bytes_of;
using bytes = std::vector<uint8_t>;

class buffer : public testing::Test {
protected:
    void SetUp() override {
        type_ = ggml_backend_dev_buffer_type(test::ggml_device());
        ASSERT_NE(type_, nullptr);
    }

    ggml_tensor * tensor(ggml_type type, int64_t ne0, int64_t ne1 = 1) { return ggml_new_tensor_2d(context_.get(), type, ne0, ne1); }

    void allocate() {
        memory_.reset(ggml_backend_alloc_ctx_tensors_from_buft(context_.get(), type_));
        ASSERT_NE(memory_, nullptr);
    }

    static bytes numbered(const ggml_tensor * t, int first = 1) {
        bytes data(ggml_nbytes(t));
        std::iota(data.begin(), data.end(), static_cast<uint8_t>(first));
        return data;
    }

    ggml_backend_buffer_type_t type_ = nullptr;
    test::context_ref          context_ = test::make_context();
    test::buffer_ref           memory_;
};

TEST_F(buffer, round_trips_tensors_of_every_size) {
    const ggml_type            types[] = { GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_I8, GGML_TYPE_I8, GGML_TYPE_Q4_0, GGML_TYPE_Q8_0, GGML_TYPE_Q6_K };
    const int64_t              ne0[]   = { 5, 3, 1, 7, 32, 96, 256 };
    std::vector<ggml_tensor *> tensors;
    for (size_t i = 0; i < std::size(types); i++) {
        tensors.push_back(tensor(types[i], ne0[i], 3));
    }
    allocate();
    for (size_t i = 0; i < tensors.size(); i++) {
        const bytes data = numbered(tensors[i], static_cast<int>(i));
        ggml_backend_tensor_set(tensors[i], data.data(), 0, data.size());
    }
    for (size_t i = 0; i < tensors.size(); i++) {
        EXPECT_EQ(bytes_of(tensors[i]), numbered(tensors[i], static_cast<int>(i))) << ggml_type_name(types[i]);
    }
}

TEST_F(buffer, sets_and_gets_any_range) {
    ggml_tensor * t = tensor(GGML_TYPE_I8, 1001);
    allocate();
    bytes expected = numbered(t);
    ggml_backend_tensor_set(t, expected.data(), 0, expected.size());
    for (size_t offset : { 0, 1, 2, 3, 500, 997 }) {
        for (size_t size : { 0, 1, 2, 3, 4 }) {
            const bytes data(size, static_cast<uint8_t>(offset + size));
            ggml_backend_tensor_set(t, data.data(), offset, size);
            std::copy(data.begin(), data.end(), expected.begin() + offset);
            bytes found(size);
            ggml_backend_tensor_get(t, found.data(), offset, size);
            EXPECT_EQ(found, data);
        }
    }
    EXPECT_EQ(bytes_of(t), expected);
}

TEST_F(buffer, memset_changes_its_range_alone) {
    ggml_tensor * before = tensor(GGML_TYPE_I8, 100);
    ggml_tensor * t      = tensor(GGML_TYPE_I8, 101);
    ggml_tensor * after  = tensor(GGML_TYPE_I8, 100);
    allocate();
    ggml_backend_buffer_clear(memory_.get(), 9);
    ggml_backend_tensor_memset(t, 200, 3, 95);
    bytes expected(101, 9);
    std::fill_n(expected.begin() + 3, 95, 200);
    EXPECT_EQ(bytes_of(t), expected);
    EXPECT_EQ(bytes_of(before), bytes(100, 9));
    EXPECT_EQ(bytes_of(after), bytes(100, 9));
}

TEST_F(buffer, sets_and_gets_rows_with_strides) {
    ggml_tensor * t = tensor(GGML_TYPE_I8, 1000);
    allocate();
    for (const auto & [size, tensor_stride, data_stride] : { std::array<size_t, 3>{ 7, 31, 11 }, { 8, 32, 8 }, { 5, 5, 5 }, { 16, 16, 20 }, { 1, 100, 1 } }) {
        const size_t n = 9, offset = 13;
        bytes        expected(1000, 0xaa), data(n * data_stride);
        std::iota(data.begin(), data.end(), 1);
        ggml_backend_tensor_memset(t, 0xaa, 0, 1000);
        ggml_backend_tensor_set_2d(t, data.data(), offset, size, n, tensor_stride, data_stride);
        bytes found(n * data_stride, 0x55), wanted(n * data_stride, 0x55);
        for (size_t i = 0; i < n; i++) {
            std::copy_n(data.begin() + i * data_stride, size, expected.begin() + offset + i * tensor_stride);
            std::copy_n(data.begin() + i * data_stride, size, wanted.begin() + i * data_stride);
        }
        EXPECT_EQ(bytes_of(t), expected) << size << " " << tensor_stride << " " << data_stride;
        ggml_backend_tensor_get_2d(t, found.data(), offset, size, n, tensor_stride, data_stride);
        EXPECT_EQ(found, wanted) << size << " " << tensor_stride << " " << data_stride;
    }
}

TEST_F(buffer, a_view_is_the_memory_it_views) {
    ggml_tensor * t       = tensor(GGML_TYPE_I8, 64, 4);
    ggml_tensor * view    = ggml_view_1d(context_.get(), t, 30, 65);
    ggml_tensor * reshape = ggml_reshape_1d(context_.get(), t, 256);
    ggml_tensor * nested  = ggml_view_1d(context_.get(), view, 5, 7);
    allocate();
    bytes expected = numbered(t);
    ggml_backend_tensor_set(t, expected.data(), 0, expected.size());
    EXPECT_EQ(bytes_of(view), bytes(expected.begin() + 65, expected.begin() + 95));
    EXPECT_EQ(bytes_of(reshape), expected);
    EXPECT_EQ(bytes_of(nested), bytes(expected.begin() + 72, expected.begin() + 77));

    const bytes data(5, 0);
    ggml_backend_tensor_set(nested, data.data(), 0, 5);
    std::fill_n(expected.begin() + 72, 5, 0);
    EXPECT_EQ(bytes_of(t), expected);
}

TEST_F(buffer, copies_between_tensors_of_a_device) {
    ggml_tensor * a = tensor(GGML_TYPE_F16, 13, 3);
    ggml_tensor * b = tensor(GGML_TYPE_F16, 13, 3);
    allocate();
    auto             others = test::make_context();
    ggml_tensor *    c      = ggml_new_tensor_2d(others.get(), GGML_TYPE_F16, 13, 3);
    test::buffer_ref second(ggml_backend_alloc_ctx_tensors_from_buft(others.get(), type_));
    ASSERT_NE(second, nullptr);

    const bytes data = numbered(a);
    ggml_backend_tensor_set(a, data.data(), 0, data.size());
    ggml_backend_tensor_copy(a, b);
    ggml_backend_tensor_copy(b, c);
    ggml_backend_tensor_copy(c, c);
    EXPECT_EQ(bytes_of(b), data);
    EXPECT_EQ(bytes_of(c), data);
}

TEST_F(buffer, copies_between_overlapping_views) {
    ggml_tensor * t = tensor(GGML_TYPE_I8, 100);
    ggml_tensor * a = ggml_view_1d(context_.get(), t, 40, 0);
    ggml_tensor * b = ggml_view_1d(context_.get(), t, 40, 10);
    allocate();
    bytes expected = numbered(t);
    ggml_backend_tensor_set(t, expected.data(), 0, expected.size());
    ggml_backend_tensor_copy(a, b);
    const bytes moved(expected.begin(), expected.begin() + 40);
    std::copy(moved.begin(), moved.end(), expected.begin() + 10);
    EXPECT_EQ(bytes_of(t), expected);
}

TEST_F(buffer, copies_to_and_from_host_memory) {
    ggml_tensor * t = tensor(GGML_TYPE_I8, 77);
    allocate();
    auto             host = test::make_context();
    ggml_tensor *    h    = ggml_new_tensor_2d(host.get(), GGML_TYPE_I8, 77, 1);
    ggml_tensor *    back = ggml_new_tensor_2d(host.get(), GGML_TYPE_I8, 77, 1);
    test::buffer_ref host_memory(ggml_backend_alloc_ctx_tensors_from_buft(host.get(), ggml_backend_cpu_buffer_type()));
    const bytes      data = numbered(t);
    ggml_backend_tensor_set(h, data.data(), 0, data.size());
    ggml_backend_tensor_copy(h, t);
    EXPECT_EQ(bytes_of(t), data);
    ggml_backend_tensor_copy(t, back);
    EXPECT_EQ(bytes_of(back), data);
}

TEST_F(buffer, empty_tensors_and_buffers_are_allowed) {
    ggml_tensor * empty = tensor(GGML_TYPE_F32, 0, 5);
    ggml_tensor * t     = tensor(GGML_TYPE_F32, 3);
    allocate();
    ggml_backend_tensor_set(empty, nullptr, 0, 0);
    ggml_backend_tensor_get(empty, nullptr, 0, 0);
    ggml_backend_tensor_memset(empty, 1, 0, 0);
    ggml_backend_tensor_copy(empty, empty);
    EXPECT_EQ(bytes_of(t).size(), 12u);

    test::buffer_ref none(ggml_backend_buft_alloc_buffer(type_, 0));
    ASSERT_NE(none, nullptr);
    EXPECT_EQ(ggml_backend_buffer_get_size(none.get()), 0u);
    ggml_backend_buffer_clear(none.get(), 1);

    auto             only_empty = test::make_context();
    ggml_tensor *    lone       = ggml_new_tensor_1d(only_empty.get(), GGML_TYPE_F32, 0);
    test::buffer_ref nothing(ggml_backend_alloc_ctx_tensors_from_buft(only_empty.get(), type_));
    EXPECT_EQ(ggml_nbytes(lone), 0u);
}

TEST_F(buffer, every_byte_is_cleared) {
    for (size_t size : { 1, 3, 4, 255, 257, 100003 }) {
        test::buffer_ref memory(ggml_backend_buft_alloc_buffer(type_, size));
        ASSERT_NE(memory, nullptr);
        auto          context = test::make_context();
        ggml_tensor * t       = ggml_new_tensor_1d(context.get(), GGML_TYPE_I8, static_cast<int64_t>(size));
        ASSERT_EQ(ggml_backend_tensor_alloc(memory.get(), t, ggml_backend_buffer_get_base(memory.get())), GGML_STATUS_SUCCESS);
        for (int value : { 0, 1, 255 }) {
            ggml_backend_buffer_clear(memory.get(), static_cast<uint8_t>(value));
            EXPECT_EQ(bytes_of(t), bytes(size, static_cast<uint8_t>(value))) << size;
        }
    }
}

TEST_F(buffer, the_type_tells_the_truth) {
    const size_t alignment = ggml_backend_buft_get_alignment(type_);
    EXPECT_GE(alignment, 16u);
    EXPECT_EQ(alignment & (alignment - 1), 0u);
    EXPECT_FALSE(ggml_backend_buft_is_host(type_));
    EXPECT_EQ(ggml_backend_buft_get_device(type_), test::ggml_device());
    EXPECT_EQ(type_, ggml_backend_webgpu_buffer_type(0));
    EXPECT_STREQ(ggml_backend_buft_name(type_), "WebGPU0");
    EXPECT_TRUE(ggml_backend_dev_supports_buft(test::ggml_device(), type_));
    EXPECT_FALSE(ggml_backend_dev_supports_buft(test::ggml_device(), ggml_backend_cpu_buffer_type()));

    auto context = test::make_context(70);
    for (int64_t n = 1; n < 70; n++) {
        const ggml_tensor * t = ggml_new_tensor_1d(context.get(), GGML_TYPE_F16, n);
        EXPECT_EQ(ggml_backend_buft_get_alloc_size(type_, t), ggml_nbytes(t));
    }
}

TEST_F(buffer, tensors_start_at_the_alignment) {
    std::vector<ggml_tensor *> tensors;
    for (int64_t n = 1; n < 12; n++) {
        tensors.push_back(tensor(GGML_TYPE_I8, n));
    }
    allocate();
    for (const ggml_tensor * t : tensors) {
        EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data) % ggml_backend_buft_get_alignment(type_), 0u);
    }
}

TEST_F(buffer, one_that_cannot_be_had_is_null_and_one_log_line) {
    const size_t     max = ggml_backend_buft_get_max_size(type_);
    test::log_capture log;
    test::buffer_ref memory(ggml_backend_buft_alloc_buffer(type_, max + 1));
    EXPECT_EQ(memory, nullptr);
    EXPECT_EQ(log.lines(), 1u) << log.text();
    EXPECT_NE(log.text().find(std::to_string(max + 1)), std::string::npos) << log.text();
    EXPECT_NE(test::buffer_ref(ggml_backend_buft_alloc_buffer(type_, 1000)), nullptr);
}

TEST_F(buffer, freed_memory_is_given_back) {
    size_t before, now, total;
    { test::buffer_ref opens_the_device(ggml_backend_buft_alloc_buffer(type_, 1)); }
    ggml_backend_dev_memory(test::ggml_device(), &before, &total);
    EXPECT_GT(total, 0u);
    EXPECT_LE(before, total);
    for (int i = 0; i < 100; i++) {
        test::buffer_ref memory(ggml_backend_buft_alloc_buffer(type_, 1 << 20));
        ggml_backend_dev_memory(test::ggml_device(), &now, &total);
        EXPECT_EQ(now, before - (1 << 20));
    }
    ggml_backend_dev_memory(test::ggml_device(), &now, &total);
    EXPECT_EQ(now, before);
}
