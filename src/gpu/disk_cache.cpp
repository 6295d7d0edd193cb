#include "gpu/disk_cache.h"

#include "gpu/log.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

namespace gpu {

namespace fs = std::filesystem;

// Not against forgers: whoever can write here can replace the program too.
static uint64_t hash(std::string_view bytes, uint64_t seed) {
    uint64_t h = seed ^ (bytes.size() * 0x9e3779b97f4a7c15u);
    while (!bytes.empty()) {
        uint64_t     word = 0;
        const size_t n    = std::min(bytes.size(), sizeof word);
        std::memcpy(&word, bytes.data(), n);
        bytes.remove_prefix(n);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

// A file: this, then the value. The file's name is another hash of the key.
struct file_head {
    char     format[8] = { 'g', 'g', 'm', 'l', 'w', 'g', 'p', '1' };
    uint64_t key;
    uint64_t size;
    uint64_t value;
};

static file_head head_of(std::string_view key, std::string_view value, uint64_t maker) {
    return { .key = hash(key, ~maker), .size = value.size(), .value = hash(value, 0) };
}

disk_cache::disk_cache(fs::path folder, std::string_view maker, uint64_t limit)
    : folder_(std::move(folder)), maker_(hash(maker, 0)), limit_(limit) {}

// The user may have named a folder with other things in it.
static constexpr const char * suffix = ".ggml-webgpu";

static bool is_ours(const fs::path & file) {
    return file.filename().string().find(suffix) != std::string::npos;
}

fs::path disk_cache::file_of(std::string_view key) const {
    return folder_ / format("%016llx%s", (unsigned long long) hash(key, maker_), suffix);
}

//
// loading
//

// The time of a file says when it was last used, to within a day: writing it at each use would cost more than the check.
static void note_use(const fs::path & file) {
    std::error_code error;
    const auto      now  = fs::file_time_type::clock::now();
    const auto      last = fs::last_write_time(file, error);
    if (!error && now - last > std::chrono::hours(24)) {
        fs::last_write_time(file, now, error);
    }
}

std::string disk_cache::load(std::string_view key) {
    const fs::path  file = file_of(key);
    std::error_code error;
    const uint64_t  size = fs::file_size(file, error);
    std::ifstream   in(file, std::ios::binary);
    file_head       head = {};
    std::string     value;
    if (!error && size > sizeof head && in.read(reinterpret_cast<char *>(&head), sizeof head)) {
        value.resize(size - sizeof head);
        in.read(value.data(), static_cast<std::streamsize>(value.size()));
    }
    const file_head expected = head_of(key, value, maker_);
    if (!in || value.empty() || std::memcmp(&head, &expected, sizeof head) != 0) {
        missed_++;
        return {};
    }
    found_++;
    note_use(file);
    return value;
}

size_t disk_cache::load_in_two_calls(std::string_view key, void * to, size_t size) {
    if (size == 0) {
        std::string     value = load(key);
        const size_t    found = value.size();
        std::lock_guard guard(lock_);
        if (found != 0) {
            asked_[std::this_thread::get_id()] = std::move(value);
        }
        return found;
    }
    std::lock_guard guard(lock_);
    const auto      asked = asked_.extract(std::this_thread::get_id());
    if (asked.empty() || asked.mapped().size() != size) {
        return 0;
    }
    std::memcpy(to, asked.mapped().data(), size);
    return size;
}

//
// storing
//

// Under a name of its own until it is whole: a reader finds all of it or nothing.
bool disk_cache::write(const fs::path & file, std::string_view head, std::string_view value) {
    static const uint64_t        process = std::random_device()() | uint64_t(std::random_device()()) << 32;
    static std::atomic<uint64_t> number  = 0;
    fs::path                     fresh   = file;
    fresh += format(".%016llx-%llu", (unsigned long long) process, (unsigned long long) number++);
    std::ofstream out(fresh, std::ios::binary);
    out << head << value;
    out.close();
    std::error_code error;
    if (out) {
        fs::rename(fresh, file, error);
    }
    const bool done = out && !error;
    if (!done) {
        fs::remove(fresh, error);
    }
    return done;
}

void disk_cache::store(std::string_view key, std::string_view value) {
    const file_head head = head_of(key, value, maker_);
    std::error_code error;
    fs::create_directories(folder_, error);
    make_room(sizeof head + value.size());
    if (write(file_of(key), { reinterpret_cast<const char *>(&head), sizeof head }, value)) {
        stored_++;
        return;
    }
    std::lock_guard guard(lock_);
    if (!complained_) {
        complained_ = true;
        log(log_level::debug, "compiled kernels are not kept: cannot write to %s", folder_.string().c_str());
    }
}

// Looks through the folder now and then only: other processes may have stored more meanwhile, but not much more.
void disk_cache::make_room(uint64_t bytes) {
    std::lock_guard guard(lock_);
    if (room_ >= bytes) {
        room_ -= bytes;
        return;
    }
    struct entry {
        fs::file_time_type used;
        uint64_t           size;
        fs::path           file;
    };
    std::vector<entry> entries;
    uint64_t           total = bytes;
    std::error_code    error;
    for (fs::directory_iterator at(folder_, error), end; !error && at != end; at.increment(error)) {
        std::error_code gone;  // another process may remove files too
        const entry     e = { at->last_write_time(gone), at->file_size(gone), at->path() };
        if (!gone && is_ours(e.file)) {
            total += e.size;
            entries.push_back(e);
        }
    }
    if (total > limit_) {
        std::sort(entries.begin(), entries.end(), [](const entry & a, const entry & b) { return a.used < b.used; });
        for (const entry & e : entries) {
            if (total <= limit_ / 4 * 3) {
                break;
            }
            fs::remove(e.file, error);
            total -= e.size;
        }
    }
    room_ = std::min(limit_ - std::min(total, limit_), limit_ / 16);
}

}  // namespace gpu
