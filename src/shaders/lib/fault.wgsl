// Reports an index out of range: params.op is the op's number. The graph floor turns the word into a failed status.
fn raise_fault() {
    atomicStore(&fault_buffer[params.fault_offset >> 2u], params.op + 1u);
}
