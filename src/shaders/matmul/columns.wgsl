// Columns as matmul/quantise.wgsl leaves them: signed bytes by units of 64 values (see codecs/parts/packed.wgsl), each
// block of 32 values with a scale d, value = d * quant. Tiles of columns, in them pages of self_PAGE_UNITS units, in them the
// tile's columns; and of each column, so that neighbouring threads read neighbouring quads of words,
//
//   part 0..3   quants of the units' parts
//   part 4      in order: d and d * (sum of quants) of the unit's first block, then of its second; SPREAD: d of each part
//   part 5      SPREAD: d * (sum of quants) of each part
#if self_SPREAD
const self_PAGE = 6u * self_PAGE_UNITS; // quads of a column
#else
const self_PAGE = 5u * self_PAGE_UNITS;
#endif
