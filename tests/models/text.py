"""llama.cpp writes sensible text with all of its work on the device."""
from placement import check_layers, check_nodes
from programs import check, llama_on, model, once

TOKENS = 8  # enough for the words looked for

#  model      prompt                             what a sensible continuation says
CONTINUED = [
  ("smollm2", "The capital of France is",        "Paris"),
  ("gemma",   "Water boils at a temperature of", "100 degrees"),
]
#  model      question                           what a sensible answer says
CHATTED = [
  ("smollm2", "What color is the sky?",          "blue"),
]


@once
def continued(device, name, prompt):
    return llama_on(device, "llama-completion", model(name), "--prompt", prompt, "--predict", TOKENS,
                    "--ctx-size", 256, "--temp", 0, "--no-conversation")


@once
def answered(device, name, question):
    return llama_on(device, "llama-cli", model(name), "--prompt", question, "--predict", 2 * TOKENS,
                    "--ctx-size", 256, "--temp", 0, "--single-turn", "--simple-io")


def check_says(text, expected):
    check(expected in text, f'"{expected}" is not in "{text.strip()}"')


def continuation_tests(name, prompt, expected):
    return [
        (f'{name} continues "{prompt}"',          lambda on: check_says(continued(on, name, prompt).text, expected)),
        (f"{name} has every layer on the device", lambda on: check_layers(on, continued(on, name, prompt).log)),
        (f"{name} computes every node there",     lambda on: check_nodes(on, continued(on, name, prompt).log)),
    ]


def answer_tests(name, question, expected):
    return [
        (f'{name} answers "{question}"',          lambda on: check_says(answered(on, name, question).text, expected)),
    ]


TESTS = [
    *(test for case in CONTINUED for test in continuation_tests(*case)),
    *(test for case in CHATTED for test in answer_tests(*case)),
]
