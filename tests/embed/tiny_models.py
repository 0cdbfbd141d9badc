"""Models small enough to make on the spot: an ONNX file that looks tokens up in a table, and its tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WORDS = "[PAD] [UNK] [CLS] [SEP] green black tea coffee tax filing the a".split()
DIM = 6

INT64, FLOAT = 7, 1


def table(seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(len(WORDS), DIM)).astype(np.float32)


def write_tokenizer(path: Path) -> Path:
    """Words between spaces, lower case, framed as BERT does."""
    added = [
        {"id": i, "content": WORDS[i], "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for i in range(4)
    ]
    framed = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    special = {
        name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")
    }
    path.write_text(
        json.dumps(
            {
                "version": "1.0",
                "added_tokens": added,
                "normalizer": {"type": "Lowercase"},
                "pre_tokenizer": {"type": "Whitespace"},
                "post_processor": {
                    "type": "TemplateProcessing",
                    "single": framed,
                    "pair": framed,
                    "special_tokens": special,
                },
                "model": {
                    "type": "WordLevel",
                    "vocab": {word: i for i, word in enumerate(WORDS)},
                    "unk_token": "[UNK]",
                },
            }
        )
    )
    return path


def write_onnx(
    path: Path,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
    *,
    pooled: bool = False,
) -> Path:
    """A vector a token, out of `table`; `pooled`: one a text, that of its first token."""
    weights = table()
    nodes = [_message({1: ["table", "input_ids"], 2: ["tokens"], 4: "Gather"})]
    initializers = [_tensor("table", FLOAT, weights)]
    output, shape = "tokens", ("n", "length", DIM)
    if pooled:
        # GatherND would need more: the mean over tokens of a model that pools by itself.
        nodes.append(
            _message(
                {1: ["tokens"], 2: ["text"], 4: "ReduceMean", 5: [_ints("axes", [1]), _int("keepdims", 0)]}
            )
        )
        output, shape = "text", ("n", DIM)
    graph = _message(
        {
            1: nodes,
            2: "tiny",
            5: initializers,
            11: [_value(name, INT64, ("n", "length")) for name in inputs],
            12: [_value(output, FLOAT, shape)],
        }
    )
    path.write_bytes(_message({1: 8, 7: graph, 8: _message({1: "", 2: 13})}))
    return path


# --- protocol buffers, as far as this needs them ---------------------------------------------------------------


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _message(fields: dict[int, object]) -> bytes:
    out = b""
    for number, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                out += _varint(number << 3) + _varint(value)
            else:
                data = value.encode() if isinstance(value, str) else bytes(value)
                out += _varint(number << 3 | 2) + _varint(len(data)) + data
    return out


def _tensor(name: str, kind: int, values: NDArray[np.float32]) -> bytes:
    return _message({1: list(values.shape), 2: kind, 8: name, 9: values.tobytes()})


def _value(name: str, kind: int, shape: tuple[str | int, ...]) -> bytes:
    dims = [_message({1: size} if isinstance(size, int) else {2: size}) for size in shape]
    return _message({1: name, 2: _message({1: _message({1: kind, 2: _message({1: dims})})})})


def _ints(name: str, values: list[int]) -> bytes:
    return _message({1: name, 8: values, 20: 7})


def _int(name: str, value: int) -> bytes:
    return _message({1: name, 3: value, 20: 2})
