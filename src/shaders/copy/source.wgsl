// What src_unit of the file SOURCE may answer besides a unit of src.
const no_unit      = 0xffffffffu; // zero
const other_window = 0xfffffffeu; // it is not in the bound part of src: another dispatch moves it
#include "{SOURCE}.wgsl"

#if UNIT < 16
fn src_unit_bits(unit: u32) -> u32 {
    if (unit == no_unit) {
        return 0u;
    }
#if UNIT == 4
    return src_word((params.src_offset >> 2u) + unit);
#elif UNIT == 2
    return src_u16(params.src_offset + 2u * unit);
#else
    return src_u8(params.src_offset + unit);
#endif
}
#endif
