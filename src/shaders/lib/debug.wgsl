// Looking into a kernel: add bind_debug() to its step's operands, include this, and call debug_value. When the host
// synchronises, all slots that are not 0 are printed (ggml's debug level). Not for kernels that are committed.
fn debug_value(slot: u32, x: f32) {
    if (slot < 256u) {
        debug_set_word((params.debug_offset >> 2u) + slot, bitcast<u32>(x));
    }
}
