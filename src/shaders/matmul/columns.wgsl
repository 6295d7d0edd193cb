// The columns of src1 as matmul/quantise.wgsl leaves them: signed bytes by units of 64 values (see codecs/parts/packed.wgsl), each
// block of 32 values with a scale d, value = d * quant. Tiles of columns, in them pages of PAGE_UNITS units, in them the
// tile's columns; and of each column, so that neighbouring threads read neighbouring quads of words,
//
//   part 0..3   quants of the units' parts
//   part 4      in order: d and d * (sum of quants) of the unit's first block, then of its second; SPREAD: d of each part
//   part 5      SPREAD: d * (sum of quants) of each part
#if SPREAD
const PARTS = 6u;
#else
const PARTS = 5u;
#endif
const PAGE = PARTS * PAGE_UNITS; // quads of a column
