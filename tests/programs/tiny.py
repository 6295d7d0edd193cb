"""A llama model of random weights, small enough for a software GPU: its tokens are bytes."""
import gguf
import numpy

EMBEDDING, HEADS, KV_HEADS, LAYERS, FEED_FORWARD, CONTEXT = 64, 4, 2, 2, 128, 512
CONTROL_TOKENS = ["<unk>", "<s>", "</s>"]


def write(path, seed=1):
    writer = gguf.GGUFWriter(path, "llama")
    add_sizes(writer)
    add_tokens(writer)
    add_weights(writer, numpy.random.default_rng(seed))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_sizes(writer):
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(EMBEDDING)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(EMBEDDING // HEADS)


def add_tokens(writer):
    kinds = gguf.TokenType
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(CONTROL_TOKENS + byte_tokens)
    writer.add_token_scores([0.0] * (len(CONTROL_TOKENS) + 256))
    writer.add_token_types([kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL] + [kinds.BYTE] * 256)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def add_weights(writer, random):
    def add(name, *shape):
        values = random.standard_normal(shape, numpy.float32) * 0.1 if len(shape) > 1 else numpy.ones(shape, numpy.float32)
        writer.add_tensor(f"{name}.weight", values)

    vocabulary = len(CONTROL_TOKENS) + 256
    kv = EMBEDDING // HEADS * KV_HEADS
    add("token_embd", vocabulary, EMBEDDING)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        add(f"{block}.attn_norm", EMBEDDING)
        add(f"{block}.attn_q", EMBEDDING, EMBEDDING)
        add(f"{block}.attn_k", kv, EMBEDDING)
        add(f"{block}.attn_v", kv, EMBEDDING)
        add(f"{block}.attn_output", EMBEDDING, EMBEDDING)
        add(f"{block}.ffn_norm", EMBEDDING)
        add(f"{block}.ffn_gate", FEED_FORWARD, EMBEDDING)
        add(f"{block}.ffn_up", FEED_FORWARD, EMBEDDING)
        add(f"{block}.ffn_down", EMBEDDING, FEED_FORWARD)
    add("output_norm", EMBEDDING)
    add("output", vocabulary, EMBEDDING)
