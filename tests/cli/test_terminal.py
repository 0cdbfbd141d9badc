"""What a terminal gets: colours where they are wanted, one line for an error, silence where nobody listens."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli.conftest import Run, assert_one_line_error, process
from poincare_memory import CallableEmbedder, Memory
from poincare_memory.cli.terminal import Meter

ESCAPE = b"\x1b["


def on_a_terminal(*argv: str, **environment: str) -> bytes:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    settings = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    child = subprocess.Popen(
        [sys.executable, "-m", "poincare_memory.cli", *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**settings, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    written = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            written += piece
    child.wait(timeout=30)
    os.close(ours)
    return written


@pytest.mark.parametrize("argv", [["search", "demo.db", "knee"], ["tree", "demo.db"]], ids=" ".join)
def test_colours_on_a_terminal_only(argv: list[str], folder: Path) -> None:
    assert ESCAPE in on_a_terminal(*argv)
    assert ESCAPE not in on_a_terminal(*argv, NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(*argv, TERM="dumb")
    plain = process(*argv).stdout
    assert ESCAPE not in plain
    coloured = on_a_terminal(*argv)
    for code in (b"0", b"1", b"2", b"31", b"32", b"36"):
        coloured = coloured.replace(ESCAPE + code + b"m", b"")
    assert coloured.replace(b"\r\n", b"\n").splitlines()[0] == plain.splitlines()[0]


def test_a_reader_that_stops_early_is_no_error_to_show(folder: Path) -> None:
    memory = Memory.load("demo.db")
    memory.add_many({"text": f"one of many {i}", "parent": "body"} for i in range(3000))
    memory.save("big.db")
    command = f"{sys.executable} -m poincare_memory.cli tree big.db | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
    assert done.stdout.startswith(b"Human")
    assert done.stdout.endswith(b"141\n")
    assert done.stderr == b""


def test_ctrl_c_is_quiet(folder: Path) -> None:
    with Memory.open("live.db") as mem:
        mem.add("a")
        child = subprocess.Popen(
            [sys.executable, "-m", "poincare_memory.cli", "watch", "live.db", "--interval", "0.05"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A shell's background jobs, and what they start, have it ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        assert child.stdout is not None
        while not select.select([child.stdout], [], [], 0.05)[0]:
            mem.add("until it is seen")
            assert child.poll() is None
        child.send_signal(signal.SIGINT)
        try:
            _, errors = child.communicate(timeout=30)
        finally:
            child.kill()
    assert (child.returncode, errors) == (130, b"")


SLOW = """
import time
from poincare_memory import CallableEmbedder

def embed(texts):
    print("embedding", flush=True)
    time.sleep(30)

embedder = CallableEmbedder(embed, 2)
"""


@pytest.mark.parametrize("there", [False, True], ids=["a new store", "a store that is there"])
def test_ctrl_c_in_the_middle_of_an_import_leaves_what_was(there: bool, folder: Path) -> None:
    (folder / "slow.py").write_text(SLOW)
    (folder / "notes.md").write_text("# Notes\n- one\n- two\n")
    if there:
        with Memory.open(
            "notes.db", embedder=CallableEmbedder(lambda texts: [[1.0, 2.0]] * len(texts), 2)
        ) as mem:
            mem.add("before")
    argv = ["import", "notes.md", "notes.db", "--embedder", "slow:embedder"]
    child = subprocess.Popen(
        [sys.executable, "-m", "poincare_memory.cli", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"embedding\n"
    child.send_signal(signal.SIGINT)
    try:
        output, errors = child.communicate(timeout=20)
    finally:
        child.kill()
    assert (child.returncode, output, errors) == (130, b"", b"")
    if there:
        assert process("tree", "notes.db").stdout.startswith(b"before  [")
    else:
        assert not list(folder.glob("notes.db*"))


ANY_OUTPUT = [["tree", "demo.db"], ["stats", "demo.db"], ["search", "demo.db", "calf", "--json"], ["--help"]]
STREAMS = [
    ["export", "demo.db", "-"],
    ["export", "demo.db", "-", "--format", "csv"],
    ["inspect", "demo.db", "-o", "-"],
]


def without(stream: str, *argv: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process that has no such stream: ``>&-``, ``<&-`` or ``2>&-``."""
    command = f"exec {sys.executable} -m poincare_memory.cli {' '.join(argv)} {stream}"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, env=buffered)


@pytest.mark.parametrize("argv", [*ANY_OUTPUT, *STREAMS], ids=" ".join)
def test_without_a_standard_output(argv: list[str], folder: Path) -> None:
    done = without(">&-", *argv)
    assert done.returncode == (1 if argv in STREAMS else 0)
    assert done.stderr.count(b"\n") == done.returncode
    assert (b"closed" in done.stderr) == bool(done.returncode)


@pytest.mark.parametrize(
    "argv", [["add", "new.db", "-"], ["import", "-", "new.db"], ["search", "demo.db", "-"]], ids=" ".join
)
def test_without_a_standard_input(argv: list[str], folder: Path) -> None:
    done = without("<&-", *argv)
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"there is no standard input" in done.stderr
    assert not (folder / "new.db").exists()


def test_without_a_standard_error_the_output_is_no_place_for_errors(folder: Path) -> None:
    assert (without("2>&-", "tree", "missing.db").stdout, without("2>&-", "nosuch").stdout) == (b"", b"")


@pytest.mark.parametrize("argv", ANY_OUTPUT + STREAMS, ids=" ".join)
def test_a_full_disk_is_one_line(argv: list[str], folder: Path) -> None:
    done = without("> /dev/full", *argv)
    assert (done.returncode, done.stderr) == (1, b"poincare-memory: error: No space left on device\n")


def test_help_on_a_terminal_that_knows_ascii_only(folder: Path) -> None:
    done = process("--help", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Poincar\\xe9" in done.stdout


def test_wrong_usage_is_one_line_and_names_the_help(command: Run) -> None:
    assert_one_line_error(command(), "required", code=2)
    assert_one_line_error(command("search"), "`poincare-memory search --help`", code=2)
    code, output, errors = command("--help")
    assert (code, errors) == (0, "")
    assert "exit codes" in output


def test_a_meter_shows_what_takes_long_and_goes_away(capsys: pytest.CaptureFixture[str]) -> None:
    meter = Meter("importing")
    meter(1, 100)
    assert capsys.readouterr().err == "", "nothing for what is quick"
    meter._began -= 1
    meter(50, 100)
    assert capsys.readouterr().err == "\rimporting  50 %"
    meter._last -= 1
    meter(7_000, 0)
    meter.clear()
    assert capsys.readouterr().err == "\rimporting 7,000" + "\r" + " " * 15 + "\r"


def test_no_bar_where_nobody_looks(folder: Path) -> None:
    done = process("import", "-", "x.db", "--format", "markdown")
    assert done.stderr == b""


def test_the_librarys_warnings_are_lines_of_their_own(
    folder: Path, command: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import logging

    monkeypatch.setattr(
        Memory, "tree", lambda _: logging.getLogger("poincare_memory.store").warning("a\nb") or "drawing"
    )
    assert command("tree", "demo.db") == (0, "drawing\n", "poincare-memory: warning: a b\n")


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sea", "search"),
        ("search demo.db --mode sub", "subtree"),
        ("search demo.db knee --root ha", "hams"),
        ("link demo.db sol", "soleus"),
        ("link demo.db soleus qua", "quads"),
        ("remove demo.db soleus gm", "gmax\vgmed"),
        ("remove none.db x", ""),
        ("remove notes.txt x", ""),
    ],
)
def test_completions(line: str, offered: str, folder: Path) -> None:
    pytest.importorskip("argcomplete", reason="the extra cli, which make test installs")
    (folder / "notes.txt").write_text("no store")
    line = f"poincare-memory {line}"
    done = process(
        _ARGCOMPLETE="1", COMP_LINE=line, COMP_POINT=str(len(line)), _ARGCOMPLETE_STDOUT_FILENAME="out"
    )
    assert done.returncode == 0
    assert Path("out").read_text().rstrip(" ") == offered


def test_marks_of_direction_do_not_disguise_an_id(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.db") as mem:
        mem.add("\u05d0\u200f tea", id="safe\u202egpj.exe")
    shown = process("tree", str(tmp_path / "m.db")).stdout.decode()
    assert "safe\\u202egpj.exe" in shown
    assert "\u05d0\u200f tea" in shown  # marks that a language needs stay
