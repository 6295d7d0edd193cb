// dst = running sums of each row; one workgroup a piece of a row. `sums` are those of the pieces, if there are several.
#include "lib/grid.wgsl"
#include "lib/reduce.wgsl" as total
#include "lib/scan.wgsl" as running
#include "codecs/{src_TYPE}.wgsl" as src
#include "codecs/{dst_TYPE}.wgsl" as dst
#if PIECES
#include "codecs/{sums_TYPE}.wgsl" as sums
#endif

const VALUES = 4u; // of a thread at a time

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) wid: vec3<u32>, @builtin(num_workgroups) nwg: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let group = group_index(wid, nwg);
    if (group >= params.groups) {
        return;
    }
    let pos     = position(group / params.pieces, params.rows);
    let src_row = at(pos, params.src_nb);
    let dst_row = at(pos, params.dst_nb);
    let piece   = group % params.pieces;
    let first   = piece * params.piece;
    let end     = min(first + params.piece, params.length);
    var carry   = 0.0;
#if PIECES
    for (var i = local; i < piece; i += WORKGROUP) {
        carry += sums_value(group - piece + i, 0u);
    }
    carry = total(local, carry);
#endif
    for (var start = first; start < end; start += WORKGROUP * VALUES) {
        let mine = start + local * VALUES;
        var x: array<f32, VALUES>;
        var sum = 0.0;
        for (var k = 0u; k < VALUES; k++) {
            if (mine + k < end) {
                sum += src_value(src_row + (mine + k) * params.src_nb.x, 0u);
            }
            x[k] = sum;
        }
        let sums = running(local, sum);
        for (var k = 0u; k < VALUES; k++) {
            if (mine + k < end) {
                dst_store(dst_row + (mine + k) * params.dst_nb.x, carry + sums.before + x[k]);
            }
        }
        carry += sums.all;
    }
}
