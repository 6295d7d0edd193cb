// What a WebGPU implementation makes of the kernels (checked shaders, the driver's programs), kept on disk between processes,
// any number of which may share the folder. Nothing here fails a program: what cannot be read or written is compiled anew.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace gpu {

class disk_cache {
public:
    static constexpr uint64_t usual_limit = 256u << 20;

    // `folder` is made when something is stored first. It holds about `limit` bytes; what was not used for longest goes first. What one
    // `maker`, the implementation, has stored is not found for another.
    disk_cache(std::filesystem::path folder, std::string_view maker, uint64_t limit = usual_limit);

    // The bytes stored under `key`; empty if there are none.
    std::string load(std::string_view key);
    void        store(std::string_view key, std::string_view value);

    // The same for an implementation that asks for the size first (`size` of 0), then on the same thread for the bytes. Returns their number.
    size_t load_in_two_calls(std::string_view key, void * to, size_t size);

    uint64_t found() const { return found_; }
    uint64_t missed() const { return missed_; }
    uint64_t stored() const { return stored_; }

private:
    std::filesystem::path file_of(std::string_view key) const;
    bool                  write(const std::filesystem::path & file, std::string_view head, std::string_view value);
    void                  make_room(uint64_t bytes);

    const std::filesystem::path folder_;
    const uint64_t              maker_;
    const uint64_t              limit_;

    std::atomic<uint64_t> found_ = 0, missed_ = 0, stored_ = 0;

    std::mutex                             lock_;
    std::map<std::thread::id, std::string> asked_;     // between the two calls
    uint64_t                               room_ = 0;  // bytes to store before the folder is looked through again
    bool                                   complained_ = false;
};

}  // namespace gpu
