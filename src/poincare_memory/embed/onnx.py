"""Sentence models in ONNX: a model file and a tokenizer file, without torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..arguments import integer
from .embedding import as_embeddings, text_list
from .protocol import FloatArray

__all__ = ["OnnxEmbedder", "Pooling"]

Pooling = Literal["mean", "cls", "last"]

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_PROBE = "a"


class OnnxEmbedder:
    """Any local sentence model as ONNX with its ``tokenizer.json`` (``pip install "poincare-memory[onnx]"``).

    Texts are embedded in batches of like length, on the processor by default. A model that gives one vector a text
    is taken at its word; one that gives a vector a token is pooled.

    Parameters
    ----------
    model : path
        The ``.onnx`` file; its inputs are among input_ids, attention_mask and token_type_ids.
    tokenizer : path, optional
        The ``tokenizer.json``; by default the one in the folder of the model, or in the folder above.
    pooling : {"mean", "cls", "last"}, default "mean"
        How the vectors of tokens become that of a text: their mean, the first, or the last. The model's card says.
    normalize : bool, default True
        Give vectors of length 1.
    max_tokens : int, default 512
        Longer texts are cut there.
    batch_size : int, default 32
    threads : int, optional
        Of onnxruntime; all processors by default.
    providers : sequence of str, default ("CPUExecutionProvider",)
        Execution providers of onnxruntime, the preferred first.

    Raises
    ------
    ImportError
        If onnxruntime or tokenizers is not installed.
    FileNotFoundError
        Where a file is missing.
    ValueError
        For a file that is no model or tokenizer, or a model with other inputs.

    Examples
    --------
    >>> embedder = OnnxEmbedder("all-MiniLM-L6-v2/model.onnx")  # doctest: +SKIP
    >>> embedder.embed(["green tea"]).shape  # doctest: +SKIP
    (1, 384)
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        tokenizer: str | os.PathLike[str] | None = None,
        *,
        pooling: Pooling = "mean",
        normalize: bool = True,
        max_tokens: int = 512,
        batch_size: int = 32,
        threads: int | None = None,
        providers: Sequence[str] = ("CPUExecutionProvider",),
    ) -> None:
        if pooling not in get_args(Pooling):
            raise ValueError(f"pooling: expected one of {', '.join(get_args(Pooling))}, got {pooling!r:.80}")
        self.pooling = pooling
        self.normalize = bool(normalize)
        self.max_tokens = integer("max_tokens", max_tokens, least=1)
        self.batch_size = integer("batch_size", batch_size, least=1)
        path = _existing(model, "model")
        self.model_name = path.name
        if tokenizer is None:
            tokenizer = _beside(path)
        self._tokenizer = _tokenizer(_existing(tokenizer, "tokenizer"), self.max_tokens)
        self._session = _session(path, threads, providers)
        self._inputs = [given.name for given in self._session.get_inputs()]
        unknown = [name for name in self._inputs if name not in _INPUTS]
        if unknown:
            raise ValueError(
                f"{path}: the model asks for {', '.join(unknown)}; known are {', '.join(_INPUTS)}"
            )
        self._dim = int(self._batch([_PROBE]).shape[1])

    def __repr__(self) -> str:
        return f"OnnxEmbedder({self.model_name!r}, dim={self._dim})"

    @property
    def dim(self) -> int:
        """Length of an embedding."""
        return self._dim

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Embeddings of ``texts``, float32 of shape (n, dim).

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        float32 array of shape (len(texts), dim)

        Raises
        ------
        TypeError
            If ``texts`` is one string.
        """
        listed = text_list(texts)
        out = np.empty((len(listed), self._dim), np.float32)
        by_length = sorted(range(len(listed)), key=lambda i: len(listed[i]))
        for start in range(0, len(listed), self.batch_size):
            chosen = by_length[start : start + self.batch_size]
            rows = self._batch([listed[i] for i in chosen])
            out[chosen] = as_embeddings(rows, len(chosen), self._dim, f"the model {self.model_name}")
        return out

    def _batch(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch(texts)
        mask = np.array([e.attention_mask for e in encoded], np.int64)
        if mask.shape[1] == 0:  # no text has a token
            mask = np.zeros((len(texts), 1), np.int64)
        ids = np.zeros_like(mask)
        types = np.zeros_like(mask)
        for row, one in enumerate(encoded):
            ids[row, : len(one.ids)] = one.ids
            types[row, : len(one.type_ids)] = one.type_ids
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        outputs = self._session.run(None, {name: given[name] for name in self._inputs})
        rows = self._pooled(outputs, mask)
        return _unit(rows) if self.normalize else rows

    def _pooled(self, outputs: list[Any], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        for output in outputs:  # a vector a text
            if output.ndim == 2:
                return np.asarray(output, np.float32)
        tokens = np.asarray(outputs[0], np.float32)
        if tokens.ndim != 3:
            raise ValueError(
                f"the model {self.model_name} returned an array of shape {tokens.shape}; expected (texts, dim) or "
                "(texts, tokens, dim)"
            )
        rows = np.arange(len(tokens))
        there = mask.sum(axis=1)
        if self.pooling == "mean":
            weights = mask[:, :, None].astype(np.float32)
            mean: NDArray[np.float32] = (tokens * weights).sum(axis=1) / np.maximum(there, 1)[:, None]
            return mean.astype(np.float32)
        if self.pooling == "cls":
            first: NDArray[np.float32] = tokens[rows, mask.argmax(axis=1)]
            return first
        last: NDArray[np.float32] = tokens[rows, mask.shape[1] - 1 - mask[:, ::-1].argmax(axis=1)]
        return last


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float32] = (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)
    return unit


def _existing(path: str | os.PathLike[str], name: str) -> Path:
    found = Path(path)
    if not found.is_file():
        raise FileNotFoundError(f"{name}: there is no file {found}")
    return found


def _beside(model: Path) -> Path:
    for folder in (model.parent, model.parent.parent):
        if (folder / "tokenizer.json").is_file():
            return folder / "tokenizer.json"
    raise FileNotFoundError(
        f"tokenizer: there is no tokenizer.json in {model.parent}, nor above: pass its path"
    )


def _tokenizer(path: Path, max_tokens: int) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise _missing() from error
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ValueError(f"{path}: no tokenizer: {error}") from error
    tokenizer.enable_truncation(max_tokens)
    padding = tokenizer.padding or {}
    tokenizer.enable_padding(
        pad_id=padding.get("pad_id", 0),
        pad_type_id=padding.get("pad_type_id", 0),
        pad_token=padding.get("pad_token", "[PAD]"),
    )
    return tokenizer


def _session(path: Path, threads: int | None, providers: Sequence[str]) -> Any:
    try:
        import onnxruntime
    except ImportError as error:
        raise _missing() from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = integer("threads", threads, least=1)
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=list(providers))
    except Exception as error:  # of classes of its own
        raise ValueError(f"{path}: onnxruntime cannot use it as a model: {error}") from error


def _missing() -> ImportError:
    return ImportError('OnnxEmbedder needs the "onnx" extra: pip install "poincare-memory[onnx]"')
