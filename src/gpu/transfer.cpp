// Bytes between host and device at any offset and size. WebGPU copies whole words only; the words at the edges are
// merged by a kernel (writing, filling, copying) or cut on the host (reading).
#include "gpu/device.h"
#include "gpu/log.h"
#include "gpu/program.h"

#include <algorithm>
#include <cstring>

namespace gpu {

static constexpr uint64_t read_bytes = 16u << 20;  // at once
// Dawn stages up to 4 MiB in a ring that it keeps; for more than fits it allocates and clears memory anew, which takes longer than the copy.
static constexpr uint64_t write_bytes = 1u << 20;

static dispatch word_dispatch(const char * mode, const buffer_ref & to, uint64_t offset, uint64_t size) {
    dispatch d;
    d.kernel   = kernel_name("transfer/words").define(mode).threads(64);
    d.operands = { { "dst", to, offset / 4 * 4, (offset % 4 + size + 3) / 4 * 4 } };
    d.label    = std::string("transfer ") + mode;
    return d;
}

static status run(device & on, const dispatch & d) {
    auto made = program::build(on.shared_from_this(), { d });
    return made.ok() ? (*made)->submit(nullptr) : made.why();
}

// Sets `words` words from `first_word` to `value`; in the first and last only the bits of their masks.
status device::edit_words(const buffer_ref & to, uint64_t first_word, uint64_t words, uint32_t value, uint32_t first_mask, uint32_t last_mask) {
    const uint64_t limit = caps().max_binding / 4 - 64;
    for (uint64_t done = 0; done < words;) {
        const uint64_t n = std::min(words - done, limit);
        dispatch       d = word_dispatch("FILL", to, 4 * (first_word + done), 4 * n);
        d.values.add("words", static_cast<uint32_t>(n))
            .add("value", value)
            .add("first_mask", done == 0 ? first_mask : ~0u)
            .add("last_mask", done + n == words ? last_mask : ~0u);
        d.groups = (n + 63) / 64;
        if (status s = run(*this, d); !s.ok()) {
            return s;
        }
        done += n;
    }
    return {};
}

// Bits of a word's bytes [first, last).
static uint32_t byte_mask(uint64_t first, uint64_t last) {
    uint32_t mask = 0;
    for (uint64_t byte = first; byte < last; byte++) {
        mask |= 0xffu << (8 * byte);
    }
    return mask;
}

status device::fill(const buffer_ref & to, uint64_t offset, uint8_t value, uint64_t size) {
    if (size == 0) {
        return {};
    }
    const uint64_t end = offset + size;
    if (value == 0 && offset % 4 == 0 && size % 4 == 0) {
        return encode("fill", [&](WGPUCommandEncoder e) { wgpu().CommandEncoderClearBuffer(e, to->handle(), offset, size); });
    }
    const uint64_t first = offset / 4, last = (end - 1) / 4;
    uint32_t       first_mask = byte_mask(offset % 4, 4), last_mask = byte_mask(0, (end - 1) % 4 + 1);
    if (first == last) {
        first_mask = last_mask = first_mask & last_mask;
    }
    return edit_words(to, first, last - first + 1, value * 0x01010101u, first_mask, last_mask);
}

status device::write(const buffer_ref & to, uint64_t offset, const void * data, uint64_t size) {
    const uint8_t * bytes = static_cast<const uint8_t *>(data);
    const auto      edge  = [&](uint64_t n) {
        uint32_t word = 0;
        std::memcpy(reinterpret_cast<uint8_t *>(&word) + offset % 4, bytes, n);
        const uint32_t mask = byte_mask(offset % 4, offset % 4 + n);
        status         s    = edit_words(to, offset / 4, 1, word, mask, mask);
        bytes += n;
        offset += n;
        size -= n;
        return s;
    };
    if (offset % 4 != 0 && size != 0) {
        if (status s = edge(std::min<uint64_t>(4 - offset % 4, size)); !s.ok()) {
            return s;
        }
    }
    while (size >= 4) {
        const uint64_t n = std::min(size / 4 * 4, write_bytes);
        wgpu().QueueWriteBuffer(queue_, to->handle(), offset, bytes, n);
        bytes += n;
        offset += n;
        size -= n;
        // Uploads hold staging memory until a submission ends: bound it.
        if ((written_ += n) >= write_bytes) {
            if (status s = submit({}); !s.ok()) {
                return s;
            }
        }
    }
    return size != 0 ? edge(size) : health();
}

status device::copy(const buffer_ref & from, uint64_t from_offset, const buffer_ref & to, uint64_t to_offset, uint64_t size) {
    if (size == 0) {
        return {};
    }
    if (from != to && from_offset % 4 == 0 && to_offset % 4 == 0 && size % 4 == 0) {
        return encode("copy", [&](WGPUCommandEncoder e) {
            wgpu().CommandEncoderCopyBufferToBuffer(e, from->handle(), from_offset, to->handle(), to_offset, size);
        });
    }
    const uint64_t limit = caps().max_binding / 2 - 1024;
    for (uint64_t done = 0; done < size;) {
        const uint64_t n = std::min(size - done, limit);
        dispatch       d = word_dispatch("COPY", to, to_offset + done, n);
        d.operands[0].atomic = true;
        d.operands.push_back({ "src", from, from_offset + done, n });
        d.values.add("first", static_cast<uint32_t>((to_offset + done) % 4)).add("size", static_cast<uint32_t>(n));
        d.groups = ((to_offset + done) % 4 + n + 255) / 256;
        if (status s = run(*this, d); !s.ok()) {
            return s;
        }
        done += n;
    }
    return {};
}

//
// reading back
//

// A mappable buffer, taken from the pool and given back to it.
class staging_lease {
public:
    staging_lease(device & owner, uint64_t size) : owner_(owner) {
        std::lock_guard guard(owner.staging_lock_);
        const auto      best = std::find_if(owner.staging_.begin(), owner.staging_.end(), [&](const auto & s) { return s.size >= size; });
        if (best != owner.staging_.end()) {
            held_ = *best;
            owner.staging_.erase(best);
            return;
        }
        uint64_t rounded = 4096;
        while (rounded < size) {
            rounded *= 2;
        }
        WGPUBufferDescriptor descriptor = {};
        descriptor.label                = view("readback");
        descriptor.size                 = rounded;
        descriptor.usage                = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
        held_                           = { wgpu().DeviceCreateBuffer(owner.handle_, &descriptor), rounded };
    }

    ~staging_lease() {
        static constexpr size_t kept = 8;
        std::lock_guard         guard(owner_.staging_lock_);
        if (!healthy_ || owner_.staging_.size() >= kept) {
            wgpu().BufferRelease(held_.handle);
            return;
        }
        owner_.staging_.push_back(held_);
        std::sort(owner_.staging_.begin(), owner_.staging_.end(), [](const auto & a, const auto & b) { return a.size < b.size; });
    }

    WGPUBuffer handle() const { return held_.handle; }
    void       discard() { healthy_ = false; }

private:
    device &        owner_;
    device::staging held_;
    bool            healthy_ = true;
};

status device::read(const buffer_ref & from, uint64_t offset, void * data, uint64_t size) {
    return read(std::vector<range>{ { from, offset, data, size } });
}

status device::read(const std::vector<range> & ranges) {
    std::vector<range> together = ranges;
    range &            first    = together.front();
    while (first.size > read_bytes) {
        if (status s = read_together({ { first.from, first.offset, first.data, read_bytes } }); !s.ok()) {
            return s;
        }
        first.data = static_cast<uint8_t *>(first.data) + read_bytes;
        first.offset += read_bytes;
        first.size -= read_bytes;
    }
    together.erase(std::remove_if(together.begin(), together.end(), [](const range & r) { return r.size == 0; }), together.end());
    return together.empty() ? status() : read_together(together);
}

// Bytes of a range's whole words.
static uint64_t word_bytes(const device::range & r) {
    return (r.offset % 4 + r.size + 3) / 4 * 4;
}

status device::read_together(const std::vector<range> & ranges) {
    uint64_t bytes = 0;
    for (const range & r : ranges) {
        bytes += word_bytes(r);
    }
    staging_lease staging(*this, bytes);
    status        copied = encode("readback", [&](WGPUCommandEncoder e) {
        uint64_t at = 0;
        for (const range & r : ranges) {
            wgpu().CommandEncoderCopyBufferToBuffer(e, r.from->handle(), r.offset / 4 * 4, staging.handle(), at, word_bytes(r));
            at += word_bytes(r);
        }
    });
    if (!copied.ok()) {
        staging.discard();
        return copied;
    }
    struct answer {
        bool              mapped = false;
        std::string       message;
        std::atomic<bool> done = false;
    } got;
    WGPUBufferMapCallbackInfo callback = {};
    callback.mode                      = callback_mode();
    callback.userdata1                 = &got;
    callback.callback = [](WGPUMapAsyncStatus status, WGPUStringView message, void * user, void *) {
        answer & a = *static_cast<answer *>(user);
        a.mapped   = status == WGPUMapAsyncStatus_Success;
        a.message  = text(message);
        a.done     = true;
    };
    // A software device needs the processor that watching would take.
    const bool                     watch = caps().type != capabilities::kind::software;
    const std::chrono::nanoseconds usual(watch ? usual_read_ns_.load() : 0);
    const auto                     begin = std::chrono::steady_clock::now();
    wait_for(wgpu().BufferMapAsync(staging.handle(), WGPUMapMode_Read, 0, bytes, callback), got.done, handle_, usual);
    const std::chrono::nanoseconds lasted = std::chrono::steady_clock::now() - begin;
    usual_read_ns_ = usual_read_ns_ == 0 ? lasted.count() : (3 * usual_read_ns_ + lasted.count()) / 4;

    const auto * mapped = static_cast<const uint8_t *>(got.mapped ? wgpu().BufferGetConstMappedRange(staging.handle(), 0, bytes) : nullptr);
    if (mapped == nullptr) {
        staging.discard();
        const status s = health();
        return s.ok() ? status::failure("reading back from the GPU failed: " + got.message) : s;
    }
    for (const range & r : ranges) {
        std::memcpy(r.data, mapped + r.offset % 4, r.size);
        mapped += word_bytes(r);
    }
    wgpu().BufferUnmap(staging.handle());
    return health();
}

}  // namespace gpu
