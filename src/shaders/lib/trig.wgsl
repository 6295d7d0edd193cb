// Hardware sin and cos are exact near 0 only. Takes whole turns off an angle, 2 pi in two parts (Cody and Waite): the first
// has few bits, so its product with the number of turns is exact up to 2^16 turns.
fn reduced(x: f32) -> f32 {
    let turns = round(x * 0.15915494);
    return (x - turns * 6.28125) - turns * 1.9353072e-3;
}
