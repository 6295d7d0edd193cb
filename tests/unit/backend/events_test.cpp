#include "host.h"

#include <thread>

class events : public testing::Test {
protected:
    void SetUp() override {
        stream_.reset(ggml_backend_dev_init(test::ggml_device(), nullptr));
        ASSERT_NE(stream_, nullptr);
        t_ = ggml_new_tensor_1d(context_.get(), GGML_TYPE_I8, 1 << 20);
        memory_.reset(ggml_backend_alloc_ctx_tensors(context_.get(), stream_.get()));
        event_ = ggml_backend_event_new(test::ggml_device());
        ASSERT_NE(event_, nullptr);
    }
    void TearDown() override { ggml_backend_event_free(event_); }

    test::backend_ref    stream_;
    test::context_ref    context_ = test::make_context();
    ggml_tensor *        t_       = nullptr;
    test::buffer_ref     memory_;
    ggml_backend_event_t event_ = nullptr;
};

TEST_F(events, are_announced) {
    ggml_backend_dev_props props;
    ggml_backend_dev_get_props(test::ggml_device(), &props);
    EXPECT_TRUE(props.caps.events);
    EXPECT_TRUE(props.caps.async);
}

TEST_F(events, one_never_recorded_is_over) {
    ggml_backend_event_synchronize(event_);
    ggml_backend_event_wait(stream_.get(), event_);
}

TEST_F(events, may_be_recorded_and_waited_for_again_and_again) {
    for (int i = 0; i < 200; i++) {
        ggml_backend_tensor_memset(t_, static_cast<uint8_t>(i), 1, 1000);
        ggml_backend_event_record(event_, stream_.get());
        if (i % 3 == 0) {
            ggml_backend_event_synchronize(event_);
        }
    }
    ggml_backend_event_synchronize(event_);
    ggml_backend_event_synchronize(event_);
}

TEST_F(events, order_one_stream_behind_another) {
    test::backend_ref other(ggml_backend_dev_init(test::ggml_device(), nullptr));
    ggml_backend_tensor_memset(t_, 5, 0, 1 << 20);
    ggml_backend_event_record(event_, stream_.get());
    ggml_backend_event_wait(other.get(), event_);
    std::vector<uint8_t> found(1 << 20);
    ggml_backend_tensor_get_async(other.get(), t_, found.data(), 0, found.size());
    ggml_backend_synchronize(other.get());
    EXPECT_EQ(found, std::vector<uint8_t>(1 << 20, 5));
}

TEST_F(events, are_waited_for_by_several_threads) {
    ggml_backend_tensor_memset(t_, 6, 1, (1 << 20) - 1);
    ggml_backend_event_record(event_, stream_.get());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([this] { ggml_backend_event_synchronize(event_); });
    }
    for (std::thread & t : threads) {
        t.join();
    }
}

TEST_F(events, may_be_freed_before_they_are_over) {
    ggml_backend_event_t lost = ggml_backend_event_new(test::ggml_device());
    ggml_backend_tensor_memset(t_, 6, 1, (1 << 20) - 1);
    ggml_backend_event_record(lost, stream_.get());
    ggml_backend_event_free(lost);
    ggml_backend_synchronize(stream_.get());
}
