"""Runs code on the NumPy package that ours replaces, in a process of its own.

How to use it in a test::

    from reference.harness import Reference  # only for the type hint; `reference` is a fixture

    def distances(payload):  # self-contained: imports inside, no globals of the test module
        from poincare_memory import PoincareBall

        ball = PoincareBall(payload["c"])
        return ball.distance(payload["x"], payload["y"])

    def test_distance(reference: Reference) -> None:
        payload = {"c": 0.5, "x": x, "y": y}
        np.testing.assert_allclose(distances(payload), reference.call(distances, payload), atol=1e-7)

The same function runs here on ours and there on the reference. ``reference`` is a session fixture
(``tests/conftest.py``) around one long-lived worker process, so that a call costs about a
millisecond and can sit inside a Hypothesis test (a fixture of session scope is fine there).

- ``reference.call(function, payload)`` sends the function's source text; ``reference.call(text, payload)``
  takes text that defines ``main(payload)``; ``reference.call_in(path, name, payload)`` runs function ``name``
  of a file (imported once a worker), for scenarios that are longer than one function.
- Payload and result are JSON-like values and may hold NumPy arrays and scalars (bit-exact, dtype kept),
  datetimes, timedeltas, tuples, sets, bytes, NaN and infinities, and mappings with any such keys. Convert
  other objects (records, results) inside the function.
- An exception there becomes :class:`ReferenceRaised` here, with ``kind`` (class name) and ``message``.
- Warnings of the last call are in ``reference.warnings``, as pairs (class name, text).
- A call that takes longer than ``timeout`` seconds ends the worker and raises :class:`ReferenceHung`; the
  next call starts a new one.
- ``with reference.fresh() as worker:`` gives a worker of its own, for what must not share a process.
- ``reference.command(*argv, cwd=…)`` runs the reference's command line; ``reference.folder`` is where it is
  installed (``.reference/`` in the repository, at first use).

The worker runs the same interpreter and NumPy as the tests do, isolated (``-I -S``: no ``.pth`` file, so that
our own editable install cannot shadow it), and refuses to start if it imported anything but the reference.
"""

from __future__ import annotations

import base64
import functools
import importlib.util
import inspect
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from multiprocessing import connection
from pathlib import Path
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / ".reference"
REFERENCE_VERSION = "0.1.4"


class ReferenceRaised(Exception):
    """What the reference raised: ``kind`` is the class name there."""

    def __init__(self, kind: str, message: str, trace: str) -> None:
        super().__init__(f"{kind}: {message}\n{trace}")
        self.kind = kind
        self.message = message


class ReferenceHung(Exception):
    """The call did not return in time; its process was killed."""


# Installing


def install(requirement: str, *, dependencies: bool = False) -> Path:
    """Folder that holds ``requirement`` (``name==version``) and nothing else; installed at first use.

    With ``dependencies`` its requirements are in that folder too.
    """
    tag = f"-py{sys.version_info[0]}{sys.version_info[1]}" if dependencies else ""  # may hold compiled code
    target = CACHE / (re.sub(r"[^\w.]+", "-", requirement) + tag)
    if target.is_dir():
        return target
    CACHE.mkdir(exist_ok=True)
    # Several test processes may come here together: each fills a folder of its own, the first rename wins.
    with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
        fresh = Path(temporary) / "site"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += [] if dependencies else ["--no-deps"]
        done = subprocess.run([*command, "--target", str(fresh), requirement], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(
                f"the differential tests need {requirement} from the package index, and pip could not "
                f"install it (exit code {done.returncode}):\n{done.stderr.strip()}"
            )
        try:
            fresh.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    return target


def library_paths() -> list[str]:
    """Folders of installed packages (NumPy and friends) of this interpreter."""
    names = ("site-packages", "dist-packages")
    return [path for path in sys.path if Path(path).name in names]


# Values over the pipe: JSON, with arrays beside it in NumPy's own format.


class _Packer:
    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []

    def pack(self, value: Any) -> Any:
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, "array")
        if isinstance(value, np.generic):
            return self._array(np.asarray(value), "scalar")
        if isinstance(value, (int, float)):
            return value
        if isinstance(value, list):
            return [self.pack(item) for item in value]
        if isinstance(value, Mapping):
            return {"mapping": [[self.pack(key), self.pack(item)] for key, item in value.items()]}
        if isinstance(value, tuple):
            return {"tuple": [self.pack(item) for item in value]}
        if isinstance(value, (set, frozenset)):
            return {"set": [self.pack(item) for item in value]}
        if isinstance(value, bytes):
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, datetime):
            return {"datetime": value.isoformat()}
        if isinstance(value, timedelta):
            return {"timedelta": [value.days, value.seconds, value.microseconds]}
        if isinstance(value, Path):
            return {"path": str(value)}
        raise TypeError(f"cannot send a {type(value).__name__} between processes: {value!r}")

    def _array(self, array: np.ndarray[Any, Any], kind: str) -> dict[str, int]:
        self.arrays.append(array)
        return {kind: len(self.arrays) - 1}


def dumps(value: Any) -> bytes:
    """``value`` as bytes: length of the JSON part, JSON part, arrays one after the other."""
    packer = _Packer()
    text = json.dumps(packer.pack(value)).encode()
    stream = io.BytesIO()
    stream.write(len(text).to_bytes(8, "little"))
    stream.write(text)
    for array in packer.arrays:
        np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def loads(data: bytes) -> Any:
    """Inverse of :func:`dumps`."""
    length = int.from_bytes(data[:8], "little")
    stream = io.BytesIO(data[8 + length :])
    arrays: list[np.ndarray[Any, Any]] = []

    def array(number: int) -> np.ndarray[Any, Any]:
        while len(arrays) <= number:
            arrays.append(np.lib.format.read_array(stream, allow_pickle=False))
        return arrays[number]

    def unpack(value: Any) -> Any:
        if isinstance(value, list):
            return [unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        return readers[kind](content)

    readers: dict[str, Callable[[Any], Any]] = {
        "array": array,
        "scalar": lambda number: array(number)[()],
        "mapping": lambda pairs: {unpack(key): unpack(item) for key, item in pairs},
        "tuple": lambda items: tuple(unpack(item) for item in items),
        "set": lambda items: {unpack(item) for item in items},
        "bytes": base64.b64decode,
        "datetime": datetime.fromisoformat,
        "timedelta": lambda parts: timedelta(*parts),
        "path": Path,
    }
    return unpack(json.loads(data[8 : 8 + length]))


# This side


@functools.cache
def _source(function: Callable[[Any], Any]) -> str:
    return textwrap.dedent(inspect.getsource(function))


class Reference:
    """A worker process with the reference imported. See the module's docstring."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warnings: list[tuple[str, str]] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Any = None

    def call(self, code: Callable[[Any], Any] | str, payload: Any = None, timeout: float = 60.0) -> Any:
        """Result of ``code`` (a self-contained function, or text that defines ``main``), run over there."""
        name = "main" if isinstance(code, str) else code.__name__
        text = code if isinstance(code, str) else _source(code)
        return self._ask({"text": text, "name": name, "payload": payload}, timeout)

    def call_in(self, path: str | Path, name: str, payload: Any = None, timeout: float = 60.0) -> Any:
        """Result of function ``name`` of the Python file ``path`` on ``payload``, over there."""
        return self._ask({"path": str(path), "name": name, "payload": payload}, timeout)

    def command(
        self, *argv: str, cwd: Path | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the reference's command line with ``argv``; never raises on a bad exit code."""
        code = "import sys; from poincare_memory.cli import main; sys.exit(main(sys.argv[1:]))"
        return self.python("-c", code, *argv, cwd=cwd, **options)

    def python(
        self, *argv: str, cwd: Path | None = None, also: Sequence[Path] = (), **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python *argv`` with the reference, and the folders ``also``, in front of the path."""
        return run_isolated([self.folder, *also], *argv, cwd=cwd, **options)

    @contextmanager
    def fresh(self) -> Iterator[Reference]:
        """A worker of its own."""
        worker = Reference(self.folder)
        try:
            yield worker
        finally:
            worker.close()

    def close(self) -> None:
        """End the worker process, if there is one."""
        if self._process is None:
            return
        self._pipe.close()
        self._process.kill()
        self._process.wait()
        self._process = None

    def _ask(self, request: dict[str, Any], timeout: float) -> Any:
        if self._process is None:
            self._start()
        try:
            self._pipe.send_bytes(dumps(request))
            if not self._pipe.poll(timeout):
                raise ReferenceHung(f"no answer within {timeout} s")
            answer = loads(self._pipe.recv_bytes())
        except BaseException:
            self.close()  # an answer that arrives later must not be taken for the next one
            raise
        self.warnings = answer["warnings"]
        if "raised" in answer:
            raise ReferenceRaised(*answer["raised"])
        return answer["result"]

    def _start(self) -> None:
        here, there = connection.Pipe()
        with there:
            boot = "import sys; sys.path[:0] = sys.argv[2:]; import harness; harness.serve(int(sys.argv[1]))"
            paths = [str(self.folder), str(Path(__file__).parent), *library_paths()]
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", boot, str(there.fileno()), *paths],
                pass_fds=[there.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        self._pipe = here
        if not here.poll(60):
            self.close()
            raise ReferenceHung("the worker did not start within 60 s")
        try:
            hello = loads(here.recv_bytes())
        except EOFError as error:
            self.close()
            raise RuntimeError(
                "the worker ended while it started; its message is on standard error"
            ) from error
        assert hello["version"] == REFERENCE_VERSION, hello
        assert Path(hello["file"]).is_relative_to(self.folder), hello


def run_isolated(
    folders: list[Path], *argv: str, cwd: Path | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run ``python -S *argv`` with ``folders`` in front of the installed packages, without ``.pth`` files."""
    paths = os.pathsep.join([*map(str, folders), *library_paths()])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "utf-8", **options.pop("env", {})}
    settings: dict[str, Any] = {"capture_output": True, "encoding": "utf-8", "timeout": 120, **options}
    return subprocess.run([sys.executable, "-S", *argv], cwd=cwd, env=environment, **settings)


# The other side


class _Worker:
    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], Callable[[Any], Any]] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                outcome = {"result": self._function(request)(request["payload"])}
                dumps(outcome)  # an answer that cannot be sent is an error of this call, not of the worker
            except Exception as error:
                outcome = {"raised": (type(error).__name__, str(error), traceback.format_exc())}
        return {**outcome, "warnings": [(item.category.__name__, str(item.message)) for item in caught]}

    def _function(self, request: dict[str, Any]) -> Callable[[Any], Any]:
        source = request.get("text") or request["path"]
        name = request["name"]
        if (source, name) not in self.functions:
            names = self._run(source) if "text" in request else vars(self._load(source))
            self.functions[source, name] = names[name]
        return self.functions[source, name]

    @staticmethod
    def _run(text: str) -> dict[str, Any]:
        names: dict[str, Any] = {"np": np}
        exec(compile(text, "<sent by the test>", "exec", dont_inherit=True), names)
        return names

    @staticmethod
    def _load(path: str) -> Any:
        name = Path(path).stem
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
        return sys.modules[name]


def serve(descriptor: int) -> None:
    """Answer requests until the pipe closes."""
    import poincare_memory

    pipe = connection.Connection(descriptor)
    pipe.send_bytes(dumps({"version": poincare_memory.__version__, "file": poincare_memory.__file__}))
    worker = _Worker()
    while True:
        try:
            request = loads(pipe.recv_bytes())
        except EOFError:
            return
        pipe.send_bytes(dumps(worker.answer(request)))
