// The units of src in the order of its values.
fn src_unit(i: u32) -> u32 {
    if (params.src_flat != 0u) {
        return i;
    }
    return at(position(i / params.parts, params.src_ne), params.src_nb) + i % params.parts;
}
