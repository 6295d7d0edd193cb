// Rows and the mask. A row is a query position and one of the query heads of a KV head, numbered with the heads next to each other.

// The score of a masked position. A number and not -infinity, so no difference of two scores is NaN.
const MASKED = -3.0e38;

fn position_of(row: u32) -> u32 {
    return row / params.group_heads;
}

// Where the mask of a row of KV head `group` starts.
fn mask_row(row: u32, group: u32, batch: u32) -> u32 {
    let head = params.first_head + group * params.group_heads + row % params.group_heads;
    return position_of(row) * params.mask_nb.y + (head % params.mask_ne.z) * params.mask_nb.z +
           ((params.first_batch + batch) % params.mask_ne.w) * params.mask_nb.w;
}

// Bits of a mask value; 0xfc00 is -infinity.
fn mask_bits(i: u32) -> u32 {
    return mask_u16(params.mask_offset + 2u * i);
}

fn mask_value(bits: u32, slope: f32) -> f32 {
    return select(slope * unpack2x16float(bits).x, MASKED, bits == 0xfc00u);
}
