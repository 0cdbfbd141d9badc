"""One script from the inspector's modules: each in a function of its own, in the order of their imports."""

from __future__ import annotations

import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^{}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)
_OTHER = re.compile(r"^(?:import|export)\b.*$", re.MULTILINE)


def bundle(sources: Mapping[str, str], entry: str) -> str:
    """Concatenate ES modules into one, reached from ``entry``.

    Understands ``import { a, b } from "./name.js";`` and ``export`` before a function, class or const:
    what the inspector's sources use. Every module keeps its own scope.

    Parameters
    ----------
    sources : mapping of str to str
        Module name (without ``.js``) to source text.
    entry : str
        The module that starts the page.

    Raises
    ------
    ValueError
        For an unknown module, a name that its module does not export, a circle of imports, or another form
        of import or export.
    """
    return "\n".join(_wrapped(name, sources) for name in _in_order(sources, entry))


def _in_order(sources: Mapping[str, str], entry: str) -> list[str]:
    done: list[str] = []
    path: list[str] = []
    pending = [(entry, False)]
    while pending:
        name, left = pending.pop()
        if left:
            path.pop()
            done.append(name)
            continue
        if name in done:
            continue
        if name in path:
            raise ValueError(f"modules import each other in a circle: {' -> '.join([*path, name])}")
        if name not in sources:
            raise ValueError(f"module {name!r} is imported, but there is no {name}.js")
        path.append(name)
        pending.append((name, True))
        pending += [(match[2], False) for match in reversed(list(_IMPORT.finditer(sources[name])))]
    return done


def _wrapped(name: str, sources: Mapping[str, str]) -> str:
    source = sources[name]
    exports = _EXPORT.findall(source)
    for match in _IMPORT.finditer(source):
        offered = _EXPORT.findall(sources[match[2]])
        missing = [wanted for wanted in _names(match[1]) if wanted not in offered]
        if missing:
            raise ValueError(f"{name}.js imports {', '.join(missing)}, which {match[2]}.js does not export")
    body = _EXPORT.sub("", source)
    body = _IMPORT.sub(
        lambda match: f"const {{ {', '.join(_names(match[1]))} }} = {_scope(match[2])};\n", body
    )
    other = _OTHER.search(body)
    if other:
        raise ValueError(f"{name}.js: cannot bundle {other[0]!r}")
    return f"const {_scope(name)} = (() => {{\n{body}return {{ {', '.join(exports)} }};\n}})();"


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


def _scope(name: str) -> str:
    return f"module_{name.replace('-', '_')}"
