// Bytes go in and out at any offset and size, and their neighbours stay as they were.
#include "../environment.h"
#include "gpu/device.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using bytes = std::vector<uint8_t>;

static bytes random_bytes(size_t n, uint32_t seed) {
    bytes        data(n);
    std::mt19937 random(seed);
    std::generate(data.begin(), data.end(), [&] { return static_cast<uint8_t>(random()); });
    return data;
}

class transfer : public testing::Test {
protected:
    // A buffer of random bytes and its mirror in host memory.
    struct mirrored {
        gpu::buffer_ref memory;
        bytes           expected;
    };

    mirrored make(size_t size, uint32_t seed = 1) {
        auto memory = gpu_->create_buffer(size, "test");
        EXPECT_TRUE(memory.ok()) << memory.why().text();
        mirrored made{ *memory, random_bytes(size, seed) };
        expect_ok(gpu_->write(made.memory, 0, made.expected.data(), size));
        return made;
    }

    void expect_ok(const gpu::status & s) { EXPECT_TRUE(s.ok()) << s.text(); }

    void expect_equal(const mirrored & m, const char * what, size_t offset, size_t size) {
        bytes found(m.expected.size());
        expect_ok(gpu_->read(m.memory, 0, found.data(), found.size()));
        const auto [a, b] = std::mismatch(found.begin(), found.end(), m.expected.begin());
        ASSERT_EQ(a, found.end()) << what << " of " << size << " bytes at " << offset << ": byte " << a - found.begin() << " is " << int(*a) << ", not "
                                  << int(*b);
    }

    std::shared_ptr<gpu::device> gpu_ = test::device();
};

static constexpr size_t offsets[] = { 0, 1, 2, 3, 4, 7, 253, 256, 1001 };
static constexpr size_t sizes[]   = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64, 65, 255, 1022, 4097 };

TEST_F(transfer, writes_any_range) {
    mirrored m = make(6000);
    for (size_t offset : offsets) {
        for (size_t size : sizes) {
            const bytes data = random_bytes(size, static_cast<uint32_t>(offset * 7919 + size));
            expect_ok(gpu_->write(m.memory, offset, data.data(), size));
            std::copy(data.begin(), data.end(), m.expected.begin() + offset);
            expect_equal(m, "write", offset, size);
        }
    }
}

TEST_F(transfer, fills_any_range) {
    mirrored m     = make(6000);
    uint8_t  value = 0;
    for (size_t offset : offsets) {
        for (size_t size : sizes) {
            value += 51;  // passes 0 too
            expect_ok(gpu_->fill(m.memory, offset, value, size));
            std::fill_n(m.expected.begin() + offset, size, value);
            expect_equal(m, "fill", offset, size);
        }
    }
}

TEST_F(transfer, reads_any_range) {
    mirrored m = make(6000);
    for (size_t offset : offsets) {
        for (size_t size : sizes) {
            bytes found(size + 2, 0xa5);
            expect_ok(gpu_->read(m.memory, offset, found.data() + 1, size));
            EXPECT_TRUE(std::equal(found.begin() + 1, found.end() - 1, m.expected.begin() + offset)) << offset << " " << size;
            EXPECT_EQ(found.front(), 0xa5);
            EXPECT_EQ(found.back(), 0xa5);
        }
    }
}

TEST_F(transfer, copies_any_range_to_any_offset) {
    mirrored from = make(6000, 1), to = make(6000, 2);
    for (size_t from_offset : { 0, 1, 2, 3, 256, 1001 }) {
        for (size_t to_offset : { 0, 1, 2, 3, 256, 1001 }) {
            for (size_t size : { 1, 3, 4, 5, 64, 65, 4097 }) {
                expect_ok(gpu_->copy(from.memory, from_offset, to.memory, to_offset, size));
                std::copy_n(from.expected.begin() + from_offset, size, to.expected.begin() + to_offset);
                expect_equal(to, "copy", to_offset, size);
            }
        }
    }
    expect_equal(from, "the source", 0, 6000);
}

TEST_F(transfer, copies_within_a_buffer) {
    mirrored m = make(6000);
    for (size_t size : { 1, 4, 255, 1024, 2999 }) {
        for (size_t to_offset : { 3000, 3001 }) {
            expect_ok(gpu_->copy(m.memory, 0, m.memory, to_offset, size));
            std::copy_n(m.expected.begin(), size, m.expected.begin() + to_offset);
            expect_equal(m, "copy", to_offset, size);
        }
    }
}

// Larger than one chunk of an upload or readback, and more workgroups than one dimension of a grid holds.
TEST_F(transfer, moves_large_odd_ranges) {
    const size_t size = (40u << 20) + 5;
    mirrored     m    = make(size);
    expect_equal(m, "write", 0, size);

    expect_ok(gpu_->fill(m.memory, 3, 0x5a, size - 4));
    std::fill_n(m.expected.begin() + 3, size - 4, 0x5a);
    expect_equal(m, "fill", 3, size - 4);

    mirrored     other = make(size, 2);
    const size_t n     = size - 6;
    expect_ok(gpu_->copy(other.memory, 2, m.memory, 5, n));
    std::copy_n(other.expected.begin() + 2, n, m.expected.begin() + 5);
    expect_equal(m, "copy", 5, n);
}

TEST_F(transfer, keeps_the_order_of_small_writes_fills_and_copies) {
    mirrored     m = make(1024), source = make(1024, 2);
    std::mt19937 random(3);
    for (int i = 0; i < 600; i++) {
        const size_t offset = random() % 1000, size = random() % 25;
        switch (random() % 3) {
            case 0: {
                const bytes data = random_bytes(size, i);
                expect_ok(gpu_->write(m.memory, offset, data.data(), size));
                std::copy(data.begin(), data.end(), m.expected.begin() + offset);
                break;
            }
            case 1:
                expect_ok(gpu_->fill(m.memory, offset, static_cast<uint8_t>(i), size));
                std::fill_n(m.expected.begin() + offset, size, static_cast<uint8_t>(i));
                break;
            case 2:
                expect_ok(gpu_->copy(source.memory, offset, m.memory, offset, size));
                std::copy_n(source.expected.begin() + offset, size, m.expected.begin() + offset);
                break;
        }
    }
    expect_equal(m, "all", 0, 1024);
}

TEST_F(transfer, the_host_may_reuse_its_memory_at_once) {
    mirrored m = make(4096);
    bytes    data(4096);
    for (int i = 0; i < 20; i++) {
        std::fill(data.begin(), data.end(), static_cast<uint8_t>(i));
        expect_ok(gpu_->write(m.memory, 0, data.data(), data.size()));
        std::fill(data.begin(), data.end(), 0xee);
        std::fill(m.expected.begin(), m.expected.end(), static_cast<uint8_t>(i));
        expect_equal(m, "write", 0, 4096);
    }
}

TEST_F(transfer, reads_what_was_written_while_the_queue_is_full) {
    mirrored large = make(32u << 20), small = make(64, 2);
    for (uint8_t i = 1; i <= 40; i++) {
        expect_ok(gpu_->fill(large.memory, 1, i, large.expected.size() - 2));
        expect_ok(gpu_->fill(small.memory, 1, i, 62));
    }
    std::fill_n(small.expected.begin() + 1, 62, 40);
    expect_equal(small, "fill", 1, 62);
}

TEST_F(transfer, many_writes_hold_no_memory) {
    mirrored    m = make(4u << 20);
    const bytes data(1u << 20, 7);
    expect_ok(gpu_->wait_idle());
    const size_t before = test::resident_bytes();
    for (int i = 0; i < 1024; i++) {  // 1 GiB in all
        expect_ok(gpu_->write(m.memory, (i % 4) * data.size(), data.data(), data.size()));
    }
    EXPECT_LT(test::resident_bytes(), before + (256u << 20));
    expect_ok(gpu_->wait_idle());
}

TEST_F(transfer, new_memory_is_zero) {
    auto memory = gpu_->create_buffer(5001, "test");
    ASSERT_TRUE(memory.ok()) << memory.why().text();
    bytes found(5001, 1);
    expect_ok(gpu_->read(*memory, 0, found.data(), found.size()));
    EXPECT_EQ(std::count(found.begin(), found.end(), 0), 5001);
}
