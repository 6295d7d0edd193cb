MODEL    ?= third_party/models/smollm2.gguf
PROMPT   ?= What is the capital of France?
# Which WebGPU adapter: "software" is Mesa's CPU driver; part of a GPU's name is that GPU.
ADAPTER  ?= software
JOBS     ?= $(shell nproc)
# Of "make fuzz": random graphs, and the first one's number.
COUNT    ?= 200000
SEED     ?= 1

export MODEL PROMPT
export GGML_WEBGPU_ADAPTER = $(ADAPTER)

.PHONY: run build test test-masks fuzz bench env clean

run: build            ## a stock llama.cpp program, with this backend as plugin
	scripts/fetch smollm2
	scripts/env scripts/run "$$MODEL" "$$PROMPT"

build: env            ## build/libggml-webgpu.so, the tools, the unit tests
	scripts/fetch
	scripts/env cmake -B build -G Ninja -DGGML_WEBGPU_TESTS=ON -DGGML_WEBGPU_WERROR=ON
	scripts/env cmake --build build --parallel $(JOBS)

test: build           ## all suites; the last line is "N passed, N failed"
	scripts/fetch smollm2 gemma whisper
	scripts/test unit builds variants models programs conformance masks fuzz

test-masks: build     ## the whole conformance suite again, on devices with fewer features
	MASK_SAMPLE=1/1 scripts/test masks

fuzz: build           ## random graphs, compared with the CPU backend: more than those of "make test", for hours
	FUZZ_COUNT=$(COUNT) FUZZ_SEED=$(SEED) scripts/test fuzz

bench: build          ## ours, ggml's own WebGPU backend and its CPU backend side by side; on an idle machine, 5 minutes
	scripts/fetch smollm2
	scripts/env bench/lavapipe.py --commit "$$(git describe --always --dirty)"
	scripts/env bench/report.py

env:                  ## the Debian root that everything runs in
	scripts/env true

clean:
	rm -rf build build-*
