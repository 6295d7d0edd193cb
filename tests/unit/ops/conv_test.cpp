// CONV_2D with channels first in memory, which ggml's CPU backend refuses, in the shapes of its conformance suite.
#include "single_op.h"

namespace {

using test::pick;

struct convolution {
    test::sizes image;   // width, height, channels, number
    test::sizes kernel;  // width, height, channels, filters
    int         stride[2], padding[2], dilation[2];

    // As ggml computes it: positive also for some kernels that are larger than the padded image.
    int64_t length(int d) const { return (image[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1) / stride[d] + 1; }
};

std::vector<convolution> convolutions() {
    std::vector<convolution> all = { { { 256, 256, 192, 1 }, { 3, 3, 192, 96 }, { 1, 1 }, { 1, 1 }, { 1, 1 } } };
    for (int combination = 0; combination < 1024; combination++) {
        int           left   = combination;
        const int     stride = pick(left, { 1, 3 }), padding = pick(left, { 2, 5 });
        const int64_t channels = pick(left, { 1, 25 }), filters = pick(left, { 1, 12 });
        const int64_t kw = pick(left, { 1, 2, 3, 11 }), kh = pick(left, { 1, 2, 3, 11 });
        const int64_t width = pick(left, { 1, 141 }), height = pick(left, { 1, 133 });

        const convolution c = { { width, height, channels, 2 }, { kw, kh, channels, filters }, { stride, 5 }, { 5, padding }, { 2, 4 } };
        if (c.length(0) > 0 && c.length(1) > 0) {
            all.push_back(c);
        }
    }
    return all;
}

// The sum that makes value x, y of a filter's answer to an image.
template <typename Image, typename Kernel>
test::terms convolved(const convolution & c, const Image & image, const Kernel & kernel, int64_t x, int64_t y, int64_t filter, int64_t number) {
    test::terms t;
    for (int64_t tap = 0; tap < c.kernel[0] * c.kernel[1]; tap++) {
        const int64_t kw = tap % c.kernel[0], kh = tap / c.kernel[0];
        const int64_t column = x * c.stride[0] - c.padding[0] + kw * c.dilation[0];
        const int64_t row    = y * c.stride[1] - c.padding[1] + kh * c.dilation[1];
        if (row < 0 || row >= c.image[1] || column < 0 || column >= c.image[0]) {
            continue;
        }
        for (int64_t channel = 0; channel < c.kernel[2]; channel++) {
            t.add(kernel(kw, kh, channel, filter) * image(column, row, channel, number));
        }
    }
    return t;
}

TEST(conv_2d, takes_channels_first) {
    int cases = 0;
    for (const convolution & c : convolutions()) {
        for (const ggml_type type : { GGML_TYPE_F32, GGML_TYPE_F16 }) {
            SCOPED_TRACE(std::string(ggml_type_name(type)) + " " + test::text(c.image) + " " + test::text(c.kernel) + " stride " +
                         std::to_string(c.stride[0]) + " padding " + std::to_string(c.padding[1]));
            test::single_op op;
            ggml_tensor *   image  = op.random(GGML_TYPE_F32, { c.image[2], c.image[0], c.image[1], c.image[3] });
            ggml_tensor *   kernel = op.random(type, { c.kernel[3], c.kernel[2], c.kernel[0], c.kernel[1] });
            image                  = ggml_permute(op.ctx(), image, 2, 0, 1, 3);
            kernel                 = ggml_permute(op.ctx(), kernel, 3, 2, 0, 1);
            ggml_tensor * y        = ggml_conv_2d_direct(op.ctx(), kernel, image, c.stride[0], c.stride[1], c.padding[0], c.padding[1],
                                                         c.dilation[0], c.dilation[1]);
            ASSERT_EQ(y->ne[0], c.length(0));
            ASSERT_EQ(y->ne[1], c.length(1));
            if (!op.compute(y)) {
                continue;
            }
            const auto pixels = op.values(image), weights = op.values(kernel);
            expect_values(op, y, 1e-3, [&](auto i0, auto i1, auto i2, auto i3) { return convolved(c, pixels, weights, i0, i1, i2, i3); });
            cases++;
        }
    }
    EXPECT_EQ(cases, 1570);
}

}  // namespace
