"""Reads from the log of a llama.cpp program where its layers and its graph's nodes were computed.

With GGML_SCHED_DEBUG=2 ggml's scheduler prints each graph that it splits among backends:

    ## SPLIT #0: CPU # 0 inputs
    node #  0 (  GET_ROWS):     embd (   2K) [  CPU         ] use=2,c=1:    token_embd.weight (  28M) [  CPU     ] ...
    ## SPLIT #1: WebGPU0 # 9 inputs: [embd (   2K)] ...
    node #  4 (  RMS_NORM):   norm-0 (   2K) [WebGP         ] use=1,c=1:       WebGPU0#embd#0 (   2K) [ NULL     ] ...
"""
import dataclasses
import re

from programs import check

SPLIT = re.compile(r"## SPLIT #\d+: (\S+) #")
NODE = re.compile(r"node #\s*\d+ \(\s*(.+?)\):\s+(.*?) \(.{5}\) \[.*?\] use=\d+,c=\d:\s*(\S*)")
OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")
FEWEST_NODES = 100  # of a graph of any model here; fewer means that the log is not as above
NODES_SHOWN = 10


@dataclasses.dataclass(frozen=True)
class Node:
    backend: str
    op: str
    name: str
    source: str

    def __str__(self):
        return f"{self.op} {self.name} on {self.backend}"

    def is_token_lookup(self):
        """llama.cpp keeps its input layer, a look-up in the table of token embeddings, on the CPU with every backend:
        "there is very little benefit to offloading the input layer", says its llama-model.cpp."""
        return self.op == "GET_ROWS" and self.source == "token_embd.weight"


def nodes(log):
    """Each node once, in the order of the graph."""
    found, backend = {}, None
    for line in log.splitlines():
        if split := SPLIT.match(line):
            backend = split[1]
        elif node := NODE.match(line):
            found[Node(backend, *node.groups())] = True
    return list(found)


def check_layers(device, log):
    offloaded = OFFLOADED.findall(log)
    check(offloaded, "the log tells of no offloaded layer")
    for done, all_layers in offloaded:
        check(done == all_layers, f"only {done} of {all_layers} layers are on {device.name}")


def check_nodes(device, log):
    placed = nodes(log)
    on_device = [node for node in placed if node.backend == device.name]
    check(len(on_device) >= FEWEST_NODES, f"the log shows {len(on_device)} nodes on {device.name}")
    elsewhere = [str(node) for node in placed if node.backend != device.name and not node.is_token_lookup()]
    check(not elsewhere, f"{len(elsewhere)} nodes are not on {device.name}: {', '.join(elsewhere[:NODES_SHOWN])}")
