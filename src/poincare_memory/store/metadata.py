"""The metadata a memory may carry: what strict JSON can write, checked and copied at the door."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from .._core import _kernels

DEEPEST = 100  # levels of nesting; json itself recurses and gives up near the interpreter's limit
PLAIN: Final = frozenset((str, int, float, bool, type(None)))  # told by type alone, which is much faster
CONTAINERS: Final = (Mapping, list, tuple)
LONGEST_INTEGER_BITS = 14_000  # Python refuses to print integers beyond 4,300 digits


def check_unicode(text: str, where: str) -> None:
    """Refuse lone surrogates: no file and no page can hold them."""
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{where} has a lone surrogate at position {error.start}, which UTF-8 cannot write; "
            "decode the text properly or drop that character"
        ) from None


def copy_metadata(meta: Mapping[str, Any] | None, where: str = "meta") -> dict[str, Any] | None:
    """A deep copy of `meta`; None for no metadata.

    Raises
    ------
    TypeError
        Where a value is none of dict, list, tuple, str, int, float, bool and None, or a key no string.
    ValueError
        Where a number is not finite or too long, a string no Unicode, or the nesting too deep.

    Examples
    --------
    >>> from poincare_memory.store.metadata import copy_metadata
    >>> copy_metadata({"v": [1, {"w": float("nan")}]})
    Traceback (most recent call last):
        ...
    ValueError: meta['v'][1]['w'] is nan, which JSON cannot write; use None
    """
    if meta is None:
        return None
    plain = _kernels.plain_copy(meta)
    if plain is not None:
        return plain or None
    if not isinstance(meta, Mapping):
        raise TypeError(f"{where} must be a dict with string keys, got {type(meta).__name__}")
    if not meta:
        return None
    copied: dict[str, Any] = {}
    # Containers still to be filled: source, target, where it is, how deep.
    waiting: list[tuple[Any, Any, str, int]] = [(meta, copied, where, 1)]
    tuples: list[tuple[Any, Any, list[Any]]] = []  # (container, key, list that is to become a tuple)
    while waiting:
        source, target, path, depth = waiting.pop()
        if depth > DEEPEST:
            raise ValueError(f"{where} is nested deeper than {DEEPEST} levels (or contains itself)")
        for key, value in source.items() if isinstance(source, Mapping) else enumerate(source):
            if isinstance(source, Mapping):
                _check_key(key, path)
            copy: Any
            if type(value) not in PLAIN and isinstance(value, CONTAINERS):
                copy = {} if isinstance(value, Mapping) else []
                waiting.append((value, copy, f"{path}[{key!r}]", depth + 1))
                if isinstance(value, tuple):
                    tuples.append((target, key, copy))
            else:
                copy = _scalar(value, path, key)
            if isinstance(target, dict):
                target[key] = copy
            else:
                target.append(copy)
    for container, key, items in reversed(tuples):  # innermost first
        container[key] = tuple(items)
    return copied


def _check_key(key: Any, path: str) -> None:
    if not isinstance(key, str):
        raise TypeError(f"{path} has the key {key!r} of type {type(key).__name__}; JSON keys are strings")
    check_unicode(key, f"a key of {path}")


def _check_integer(value: int, path: str, key: Any) -> None:
    if value.bit_length() > LONGEST_INTEGER_BITS:
        raise ValueError(f"{path}[{key!r}] is an integer of more than 4,000 digits, which JSON cannot hold")


def _scalar(value: Any, path: str, key: Any) -> Any:
    kind = type(value)
    if kind is bool or value is None:
        return value
    if kind is int:
        _check_integer(value, path, key)
        return value
    where = f"{path}[{key!r}]"
    if kind is str:
        check_unicode(value, where)
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{where} is {number}, which JSON cannot write; use None")
        return number
    if isinstance(value, str):
        plain = str.__str__(value)
        check_unicode(plain, where)
        return plain
    if isinstance(value, int):
        return int(value)
    raise TypeError(
        f"{where} is a {type(value).__name__}, which JSON cannot write; "
        "use str, int, float, bool, None, list or dict (a datetime as value.isoformat())"
    )
