// iq3xxs_grid of ggml's ggml-common.h (MIT licence), a part of the format: 256 entries of 4 values, each value one of
// 4, 12, 20, 28, 36, 44, 52, 62. An entry is 16 bits, 3 bits a value with the first value lowest; two entries a word.
// Written by scripts/codec_grids.py.

var<workgroup> grid_iq3_xxs_words: array<u32, 128>;

// Workgroup memory, filled once: indexing the constant at each read took twice as long on an H200, and ten times as long
// with naga on a CPU, where it copies the whole table each time.
fn grid_iq3_xxs_prepare(local_index: u32, threads: u32) {
    var words = grid_iq3_xxs_constant;
    for (var i = local_index; i < 128u; i += threads) {
        grid_iq3_xxs_words[i] = words[i];
    }
    workgroupBarrier();
}

fn grid_iq3_xxs(index: u32) -> vec4<f32> {
    let entry = grid_iq3_xxs_words[index >> 1u] >> (16u * (index & 1u));
    let c     = (vec4<u32>(entry) >> vec4<u32>(0u, 3u, 6u, 9u)) & vec4<u32>(7u);
    return vec4<f32>((4u + 8u * c) + 2u * ((c + 1u) >> vec4<u32>(3u)));
}

// The same as bytes, in a table of its own.
var<workgroup> grid_iq3_xxs_table: array<u32, 256>;

fn grid_iq3_xxs_bytes_prepare(local_index: u32, threads: u32) {
    var words = grid_iq3_xxs_constant;
    for (var i = local_index; i < 256u; i += threads) {
        let entry = words[i >> 1u] >> (16u * (i & 1u));
        let c     = (entry & 0x7u) | ((entry & 0x38u) << 5u) | ((entry & 0x1c0u) << 10u) | ((entry & 0xe00u) << 15u);
        grid_iq3_xxs_table[i] = (0x04040404u + 8u * c) + 2u * (((c + 0x01010101u) >> 3u) & 0x01010101u);
    }
    workgroupBarrier();
}

fn grid_iq3_xxs_bytes(index: u32) -> u32 {
    return grid_iq3_xxs_table[index];
}

const grid_iq3_xxs_constant = array<u32, 128>(
    0x00020000u, 0x00090004u, 0x000f000bu, 0x00120010u, 0x00220019u, 0x003d003bu, 0x00430041u, 0x004a0048u,
    0x00550051u, 0x005a0058u, 0x006c0061u, 0x00800078u, 0x00840082u, 0x00900089u, 0x00990092u, 0x009f009bu,
    0x00af00a9u, 0x00c100bdu, 0x00c800c7u, 0x00d500cau, 0x010b00f8u, 0x0124011fu, 0x013b012fu, 0x0141013du,
    0x015a0147u, 0x019d016au, 0x01c801b4u, 0x01ce01ccu, 0x01f101e3u, 0x02030201u, 0x020a0208u, 0x02130211u,
    0x021a0218u, 0x0227021cu, 0x02400228u, 0x02490242u, 0x02520250u, 0x02830281u, 0x028a0288u, 0x02980291u,
    0x02c002bau, 0x02d002c2u, 0x02e602d9u, 0x030102f6u, 0x03280305u, 0x03540350u, 0x03790366u, 0x03d20385u,
    0x040003e0u, 0x04090402u, 0x0410040bu, 0x04160412u, 0x04220419u, 0x04430441u, 0x04480445u, 0x0451044au,
    0x04730458u, 0x04780477u, 0x04820480u, 0x048f0489u, 0x04920490u, 0x04a0049fu, 0x04c104adu, 0x04cc04c8u,
    0x04fc04f8u, 0x052b051du, 0x05570543u, 0x057c0561u, 0x05c305c1u, 0x05e505ceu, 0x06080601u, 0x0611060au,
    0x06280613u, 0x063a0635u, 0x06420640u, 0x06590650u, 0x06660664u, 0x06830681u, 0x06950688u, 0x06ba06aau,
    0x06db06c9u, 0x07270718u, 0x0740073au, 0x07520746u, 0x078c076du, 0x07b3079eu, 0x07f007dbu, 0x080f0804u,
    0x081f081du, 0x082f082bu, 0x0890087cu, 0x08a0089fu, 0x08b608b0u, 0x08e508c7u, 0x09290904u, 0x09550934u,
    0x09780963u, 0x09c809c5u, 0x09d809cau, 0x0a210a0au, 0x0a400a38u, 0x0a560a46u, 0x0a8c0a6du, 0x0aba0a9au,
    0x0aeb0ac2u, 0x0b130b08u, 0x0b3a0b17u, 0x0b590b42u, 0x0bd40ba8u, 0x0c140be2u, 0x0c260c24u, 0x0c510c34u,
    0x0c8f0c71u, 0x0cd80cb4u, 0x0d240cdeu, 0x0d6a0d45u, 0x0dc30d9bu, 0x0e030dd1u, 0x0e070e05u, 0x0e1a0e08u,
    0x0e560e2au, 0x0e8a0e60u, 0x0eaa0ea5u, 0x0ecd0ec0u, 0x0ef00edbu, 0x0f210f11u, 0x0f420f40u, 0x0f980f54u
);
