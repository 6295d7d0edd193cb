// Compiled kernels on disk: a program may only ever get back what was stored, and never notices that it got nothing.
#include "gpu/disk_cache.h"

#include "../backend/child.h"
#include "../environment.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace fs = std::filesystem;

// A folder for the test, removed with what is in it.
class disk_cache : public testing::Test {
protected:
    disk_cache() : folder_(fs::temp_directory_path() / ("ggml-webgpu-test-" + std::to_string(std::random_device()()))) {}
    ~disk_cache() override { fs::remove_all(folder_); }

    std::vector<fs::path> files() const {
        return { fs::directory_iterator(folder_), fs::directory_iterator() };
    }

    uint64_t bytes() const {
        uint64_t sum = 0;
        for (const fs::path & file : files()) {
            sum += fs::file_size(file);
        }
        return sum;
    }

    const fs::path folder_;
};

static std::string key_of(int i) {
    return "key " + std::to_string(i);
}

// Longer than a block of any buffer, and different for each key.
static std::string value_of(int i, size_t size = 20000) {
    std::string value(size, static_cast<char>('a' + i % 26));
    return value + std::to_string(i);
}

TEST_F(disk_cache, gives_back_what_was_stored_to_whoever_opens_the_folder) {
    gpu::disk_cache first(folder_ / "made" / "when needed", "maker");
    EXPECT_EQ(first.load(key_of(1)), "");
    EXPECT_FALSE(fs::exists(folder_));
    first.store(key_of(1), value_of(1));
    first.store(key_of(2), "x");
    gpu::disk_cache second(folder_ / "made" / "when needed", "maker");
    EXPECT_EQ(second.load(key_of(1)), value_of(1));
    EXPECT_EQ(second.load(key_of(2)), "x");
    EXPECT_EQ(second.load(key_of(3)), "");
    EXPECT_EQ(second.found(), 2u);
    EXPECT_EQ(second.missed(), 1u);
    EXPECT_EQ(first.stored(), 2u);
}

TEST_F(disk_cache, replaces_what_is_stored_again) {
    gpu::disk_cache cache(folder_, "maker");
    cache.store(key_of(1), value_of(1));
    cache.store(key_of(1), "another");
    EXPECT_EQ(cache.load(key_of(1)), "another");
    EXPECT_EQ(files().size(), 1u);
}

TEST_F(disk_cache, finds_nothing_of_another_maker) {
    gpu::disk_cache(folder_, "maker").store(key_of(1), value_of(1));
    EXPECT_EQ(gpu::disk_cache(folder_, "maker, next version").load(key_of(1)), "");
    EXPECT_EQ(gpu::disk_cache(folder_, "maker").load(key_of(1)), value_of(1));
}

TEST_F(disk_cache, tells_the_size_first_and_then_gives_the_bytes) {
    gpu::disk_cache cache(folder_, "maker");
    EXPECT_EQ(cache.load_in_two_calls(key_of(1), nullptr, 0), 0u);
    cache.store(key_of(1), value_of(1));
    const size_t size = cache.load_in_two_calls(key_of(1), nullptr, 0);
    ASSERT_EQ(size, value_of(1).size());
    fs::remove_all(folder_);  // by another process, between the calls
    std::string value(size, ' ');
    EXPECT_EQ(cache.load_in_two_calls(key_of(1), value.data(), size), size);
    EXPECT_EQ(value, value_of(1));
    EXPECT_EQ(cache.load_in_two_calls(key_of(1), value.data(), size), 0u);
}

TEST_F(disk_cache, ignores_a_damaged_file_and_replaces_it) {
    gpu::disk_cache cache(folder_, "maker");
    cache.store(key_of(1), value_of(1));
    const fs::path file = files().front();
    const uint64_t size = fs::file_size(file);
    const auto     flip = [&](uint64_t at) {
        std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
        f.seekg(static_cast<std::streamoff>(at));
        const char byte = static_cast<char>(f.get() ^ 1);
        f.seekp(static_cast<std::streamoff>(at));
        f.put(byte);
    };
    const std::function<void()> damages[] = {
        [&] { fs::resize_file(file, 0); },
        [&] { fs::resize_file(file, 5); },
        [&] { fs::resize_file(file, size - 1); },
        [&] { fs::resize_file(file, size + 1); },
        [&] { flip(0); },
        [&] { flip(9); },
        [&] { flip(17); },
        [&] { flip(25); },
        [&] { flip(size / 2); },
        [&] { flip(size - 1); },
        [&] { fs::remove(file), fs::create_directory(file); },
    };
    for (const auto & damage : damages) {
        damage();
        EXPECT_EQ(cache.load(key_of(1)), "");
        if (fs::is_directory(file)) {
            fs::remove(file);
        }
        cache.store(key_of(1), value_of(1));
        EXPECT_EQ(cache.load(key_of(1)), value_of(1));
    }
}

TEST_F(disk_cache, stays_below_its_limit_and_drops_the_oldest) {
    static constexpr uint64_t limit = 1 << 20;
    gpu::disk_cache           cache(folder_, "maker", limit);
    const auto                past = fs::file_time_type::clock::now() - std::chrono::hours(1000);
    for (int i = 0; i < 40; i++) {
        cache.store(key_of(i), value_of(i));
    }
    for (const fs::path & file : files()) {
        fs::last_write_time(file, past);
    }
    EXPECT_EQ(cache.load(key_of(7)), value_of(7));  // makes it young
    std::ofstream(folder_ / "the user's.txt") << "not ours";
    for (int i = 40; i < 60; i++) {
        cache.store(key_of(i), value_of(i));
        EXPECT_LE(bytes(), limit);
    }
    for (int i = 40; i < 60; i++) {
        EXPECT_EQ(cache.load(key_of(i)), value_of(i));
    }
    EXPECT_EQ(cache.load(key_of(7)), value_of(7));
    EXPECT_TRUE(fs::exists(folder_ / "the user's.txt"));
    const uint64_t before = cache.missed();
    for (int i = 0; i < 40; i++) {
        (void) cache.load(key_of(i));
    }
    EXPECT_GT(cache.missed(), before);
}

// Reads and stores the same few keys, which are dropped all the time too. Counts what was neither whole nor absent.
static int use_at_once(const fs::path & folder, int times) {
    gpu::disk_cache cache(folder, "maker", 300000);
    int             wrong = 0;
    for (int i = 0; i < times; i++) {
        const int         k     = i * 7 % 20;
        const std::string value = cache.load(key_of(k));
        wrong += !value.empty() && value != value_of(k);
        cache.store(key_of(k), value_of(k));
    }
    return wrong + (cache.found() == 0);
}

TEST(child, DISABLED_shares_the_folder) {
    EXPECT_EQ(use_at_once(std::getenv("GGML_WEBGPU_KERNEL_CACHE"), 2000), 0);
}

TEST_F(disk_cache, is_shared_by_threads_and_processes) {
    std::vector<std::thread> threads;
    std::atomic<int>         failed = 0;
    for (int i = 0; i < 2; i++) {
        threads.emplace_back([&] { failed += use_at_once(folder_, 1000) != 0; });
        threads.emplace_back([&] {
            const std::string output = test::run_child("child.DISABLED_shares_the_folder", "GGML_WEBGPU_KERNEL_CACHE=" + folder_.string());
            failed += output.find("ended well") == std::string::npos;
        });
    }
    for (std::thread & t : threads) {
        t.join();
    }
    EXPECT_EQ(failed, 0);
    for (const fs::path & file : files()) {
        EXPECT_EQ(file.extension(), ".ggml-webgpu") << "left behind: " << file;
    }
}

//
// with a device
//

static std::shared_ptr<gpu::device> open_device() {
    auto user = gpu::read_settings();
    EXPECT_TRUE(user.ok());
    EXPECT_TRUE(gpu::load_library(user->library).ok());
    auto adapters = gpu::find_adapters(*user);
    EXPECT_TRUE(adapters.ok());
    auto made = gpu::device::open(adapters->front(), *user);
    EXPECT_TRUE(made.ok()) << made.why().text();
    return *made;
}

// With a kernel.
static void set_three_bytes(gpu::device & gpu) {
    auto memory = gpu.create_buffer(1000, "test");
    ASSERT_TRUE(memory.ok());
    ASSERT_TRUE(gpu.fill(*memory, 1, 7, 3).ok());
    uint32_t word = 0;
    ASSERT_TRUE(gpu.read(*memory, 0, &word, sizeof word).ok());
    EXPECT_EQ(word, 0x07070700u);
}

TEST_F(disk_cache, spares_the_next_device_compiling) {
    test::device();  // loads the library
    if (!gpu::wgpu().caches) {
        GTEST_SKIP() << "not this implementation";
    }
    test::scoped_variable kept("GGML_WEBGPU_KERNEL_CACHE", folder_.c_str());
    for (const bool first : { true, false }) {
        auto gpu = open_device();
        ASSERT_NE(gpu->on_disk(), nullptr);
        set_three_bytes(*gpu);
        EXPECT_EQ(gpu->on_disk()->stored() > 0, first);
        EXPECT_EQ(gpu->on_disk()->missed() > 0, first);
        EXPECT_EQ(gpu->on_disk()->found() > 0, !first);
    }
    for (const fs::path & file : files()) {
        fs::resize_file(file, fs::file_size(file) / 2);
    }
    auto gpu = open_device();
    set_three_bytes(*gpu);
    EXPECT_EQ(gpu->on_disk()->found(), 0u);
    EXPECT_GT(gpu->on_disk()->stored(), 0u);
}

TEST_F(disk_cache, is_not_used_when_the_user_says_so) {
    test::scoped_variable none("GGML_WEBGPU_KERNEL_CACHE", "0");
    EXPECT_EQ(open_device()->on_disk(), nullptr);
}

TEST(child, DISABLED_runs_a_kernel) {
    set_three_bytes(*open_device());
}

TEST_F(disk_cache, is_one_debug_line_where_nothing_can_be_written) {
    fs::create_directory(folder_);
    std::ofstream(folder_ / "file") << "no folder";
    const std::string output = test::run_child("child.DISABLED_runs_a_kernel", "GGML_WEBGPU_KERNEL_CACHE=" + (folder_ / "file").string());
    EXPECT_NE(output.find("ended well"), std::string::npos) << output;
    EXPECT_EQ(test::count_of(output, "cannot write"), gpu::wgpu().caches ? 1u : 0u) << output;
}
