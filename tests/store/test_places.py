"""Where a store may be written and read: odd names, links, folders, devices, locks, modes, read-only disks."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import pytest

from poincare_memory import HashingEmbedder, Memory
from poincare_memory.store import atomic, portable
from poincare_memory.store.errors import StoreBusyError

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links, pipes")
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounts a file system: only root may"
)


def filled(count=3):
    memory = Memory(embedder=HashingEmbedder(dim=8))
    memory.add_many([{"text": f"note {i}", "id": f"n{i}"} for i in range(count)])
    return memory


NAMES = [
    "question?mark=1&x=#hash%20percent.db",
    "new\nline and\ttab.db",
    "été ☃ 記憶.db",
    "quotes'\".db",
    " space .db",
    "file:scheme.db",
    "-dash.db",
    ":memory:",
    "x" * 240 + ".db",
    "😀" * 60,
    os.fsdecode(b"not utf-8 \xff.db"),
]


@posix
@pytest.mark.parametrize("name", NAMES, ids=[repr(name)[:20] for name in NAMES])
def test_any_name_the_file_system_allows(tmp_path, name):
    path = tmp_path / name
    memory = filled()
    for _ in range(2):
        memory.save(path)
        assert Memory.load(path).ids == memory.ids
    assert os.listdir(tmp_path) == [name]
    os.unlink(path)
    for _ in range(2):
        memory.to_json(path)
        assert Memory.from_json(path).ids == memory.ids
    os.unlink(path)
    if len(os.fsencode(name)) < 240:  # -wal and -shm stand beside a live file
        with Memory.open(path) as live:
            live.add("note", id="a")
        assert Memory.load(path).ids == ["a"]
        assert os.listdir(tmp_path) == [name]


def test_a_relative_path_means_the_folder_of_the_moment(tmp_path, monkeypatch):
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    filled().save("m.db")
    with Memory.open("live.db") as live:
        live.add("first", id="a")
        monkeypatch.chdir(tmp_path / "sub")
        live.add("second", id="b")
    assert Memory.load("../m.db").ids == ["n0", "n1", "n2"]
    assert Memory.load("../live.db").ids == ["a", "b"]
    assert os.listdir() == []


def test_no_folder_no_path_and_a_path_through_a_file(tmp_path):
    memory = filled()
    memory.save(tmp_path / "m.db")
    for path in (tmp_path / "none" / "m.db", tmp_path / "m.db" / "below"):
        for write in (memory.save, memory.to_json, Memory.open, Memory.load):
            with pytest.raises(OSError, match=r"no such|No such|does not exist"):
                write(path)
    for write in (memory.save, memory.to_json, Memory.open):
        with pytest.raises((ValueError, OSError)):
            write("nul\0byte")
        with pytest.raises((ValueError, OSError)):
            write(tmp_path)
    assert os.listdir(tmp_path) == ["m.db"]


@posix
def test_devices_pipes_and_sockets_are_never_replaced(tmp_path):
    memory = filled()
    os.mkfifo(tmp_path / "pipe")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(
            str(tmp_path / "socket")[-100:] if len(str(tmp_path)) > 90 else str(tmp_path / "socket")
        )
        kinds = {path: path.stat().st_mode for path in tmp_path.iterdir()}
        for path in kinds:
            for action in (memory.save, Memory.load, Memory.open):
                with pytest.raises(ValueError, match="expected a file"):
                    action(path)
        assert {path: path.stat().st_mode for path in tmp_path.iterdir()} == kinds
    for action in (memory.save, Memory.load, Memory.open):
        with pytest.raises(ValueError, match="expected a file"):
            action("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
def test_json_may_go_into_a_pipe(tmp_path):
    memory = filled()
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    text = memory.to_json(tmp_path / "pipe")
    reader.join(10)
    assert got == [text.encode()]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@posix
def test_links(tmp_path):
    memory = filled()
    (tmp_path / "one").symlink_to(tmp_path / "other")
    (tmp_path / "other").symlink_to(tmp_path / "one")
    for action in (memory.save, memory.to_json, Memory.load, Memory.open):
        with pytest.raises(OSError, match=r"symbolic links|no such|cannot be opened"):
            action(tmp_path / "one")
    assert (tmp_path / "one").is_symlink()
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "folder" / "made")
    memory.save(tmp_path / "dangling")
    assert (tmp_path / "dangling").is_symlink()
    assert Memory.load(tmp_path / "folder" / "made").ids == memory.ids
    os.link(tmp_path / "folder" / "made", tmp_path / "hard")
    filled(5).save(tmp_path / "dangling")
    assert len(Memory.load(tmp_path / "dangling")) == 5
    assert len(Memory.load(tmp_path / "hard")) == 3  # another name of the old file keeps the old store


@posix
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_mode_that_the_umask_asks_for(tmp_path, umask):
    before = os.umask(umask)
    try:
        filled().save(tmp_path / "m.db")
        filled().to_json(tmp_path / "m.json")
        Memory.open(tmp_path / "live.db").close()
    finally:
        os.umask(before)
    for name in ("m.db", "m.json"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~umask
    assert stat.S_IMODE((tmp_path / "live.db").stat().st_mode) & umask == 0


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o660, 0o604])
def test_what_is_private_is_never_readable_by_others_not_even_while_it_is_written(
    tmp_path, mode, monkeypatch
):
    path = tmp_path / "m.db"
    filled().save(path)
    path.chmod(mode)
    seen = []
    flush = atomic._flush

    def look(temporary):
        seen.append(stat.S_IMODE(temporary.stat().st_mode))
        flush(temporary)

    def look_early(target, temporary):
        seen.append(stat.S_IMODE(temporary.stat().st_mode))
        keep(target, temporary)

    keep = atomic._keep_owner_and_mode
    monkeypatch.setattr(atomic, "_flush", look)
    monkeypatch.setattr(atomic, "_keep_owner_and_mode", look_early)
    filled(4).save(path)
    filled(4).to_json(path)
    assert seen == [0o600, mode] * 2
    assert stat.S_IMODE(path.stat().st_mode) == mode


def without_permission(code, *arguments):
    """Run as nobody: root may write everywhere. Nobody may not read every interpreter's library: imports come first."""
    drop = "import os\nif os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
    import_first = (
        "import poincare_memory.store.sqlite\nfrom poincare_memory import Memory, HashingEmbedder\n"
    )
    program = (
        import_first
        + "import sys, urllib.parse, poincare_memory.store.live, poincare_memory.store.portable\n"
        + drop
        + code
    )
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True, timeout=60
    )


@posix
def test_a_read_only_file_is_not_replaced_and_a_folder_without_permission_is_said(tmp_path):
    for folder in (tmp_path, *tmp_path.parents[:2]):
        with contextlib.suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o055)
    folder = tmp_path / "folder"
    folder.mkdir()
    filled().save(folder / "m.db")
    Memory.open(folder / "live.db").close()
    (folder / "m.db").chmod(0o444)
    (folder / "live.db").chmod(0o444)
    folder.chmod(0o555)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code = """
memory = Memory.load(sys.argv[1] + "/m.db")
assert len(memory) == 3 and len(Memory.load(sys.argv[1] + "/live.db")) == 0
for action, name in ((memory.save, "m.db"), (memory.to_json, "m.db"), (memory.save, "new.db"),
                     (memory.to_json, "new.json"), (Memory.open, "new.db"), (Memory.open, "m.db"),
                     (Memory.open, "live.db")):
    try:
        action(sys.argv[1] + "/" + name)
    except OSError as error:
        assert name in str(error) or "new" in str(error), error
    else:
        raise AssertionError((action, name))
"""
    done = without_permission(code, folder)
    folder.chmod(0o755)
    assert done.returncode == 0, done.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte, and a function that mounts it anew with other options."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(*options):
        return subprocess.run(["mount", *options, str(folder)], capture_output=True, check=False).returncode

    if mount("-t", "tmpfs", "-o", "size=1m", "tmpfs"):
        pytest.skip("this container may not mount")
    yield folder, lambda options: mount("-o", f"remount,{options}")
    subprocess.run(["umount", "-l", str(folder)], check=True)


@as_root
def test_stores_on_a_read_only_disk_can_be_loaded_and_are_not_written(small_disk):
    folder, remount = small_disk
    filled().save(folder / "m.db")
    with Memory.open(folder / "live.db") as live:
        live.add("note", id="a")
    assert remount("ro") == 0
    assert len(Memory.load(folder / "m.db")) == 3
    assert Memory.load(folder / "live.db").ids == ["a"]
    for action in (filled().save, filled().to_json, Memory.open):
        for name in ("m.db", "live.db", "new.db"):
            with pytest.raises(OSError, match=name):
                action(folder / name)
    assert sorted(os.listdir(folder)) == ["live.db", "m.db"]


@as_root
def test_a_full_disk_keeps_what_is_there(small_disk):
    folder, _ = small_disk
    small, large = filled(), filled(4000)
    for write, name in ((small.save, "m.db"), (small.to_json, "m.json")):
        write(folder / name)
        before = (folder / name).read_bytes()
        with pytest.raises(OSError, match=r"full|space"):
            getattr(large, write.__name__)(folder / name)
        assert (folder / name).read_bytes() == before
    assert sorted(os.listdir(folder)) == ["m.db", "m.json"]


def test_a_lock_of_another_program_does_not_keep_save_from_replacing(tmp_path):
    path = tmp_path / "m.db"
    filled().save(path)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        start = time.monotonic()
        filled(5).save(path)
        assert time.monotonic() - start < 3
    finally:
        connection.close()
    assert len(Memory.load(path)) == 5


def test_waiting_for_a_lock_ends_with_an_error_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("poincare_memory.store.sql.connections.READ_PATIENCE", 0.1)
    path = tmp_path / "m.db"
    filled().save(path)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        assert len(Memory.load(path)) == 3  # nothing is being written yet
        connection.execute("DELETE FROM records")
        with pytest.raises(StoreBusyError, match="another program"):
            Memory.load(path)
        with pytest.raises(StoreBusyError, match="another program"):
            Memory.open(path, busy_timeout=0.1)
    finally:
        connection.close()


def test_loading_a_live_file_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "live.db"
    with Memory.open(path) as live:
        live.add("note", id="a")
    before = path.read_bytes()
    assert Memory.load(path).ids == ["a"]
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["live.db"]
    with Memory.open(path) as live:  # and while it is open, what is in its log is loaded too
        live.add("another", id="b")
        assert Memory.load(path).ids == ["a", "b"]


def test_saving_a_live_store_over_itself_changes_nothing(tmp_path):
    path = tmp_path / "live.db"
    with Memory.open(path) as live:
        live.add("note", id="a")
        inode = path.stat().st_ino
        live.search("note", touch=True)
        live.save(path)
        assert path.stat().st_ino == inode
        live.add("another", id="b")
        live.save(tmp_path / "copy.db")
    assert Memory.load(path).ids == Memory.load(tmp_path / "copy.db").ids == ["a", "b"]
    assert Memory.load(path).get("a").access_count == 1


@posix
def test_loading_and_exporting_do_not_drop_the_locks_of_the_process(tmp_path):
    """POSIX locks go when a process closes any descriptor of the file."""
    path = tmp_path / "m.db"
    filled().save(path)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        Memory.load(path)
        portable._refuse_foreign(path)
        code = "import sqlite3, sys\nsqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        other = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=60)
        assert "locked" in other.stderr
    finally:
        connection.close()


@pytest.mark.parametrize("content", [b"my notes", b'{"name": "package"}', b"[1, 2]", b"<html>" * 1000])
def test_json_does_not_replace_what_is_no_memory(tmp_path, content):
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not replaced"):
        filled().to_json(path)
    assert path.read_bytes() == content
    path.write_bytes(b"")
    filled().to_json(path)
    filled(4).to_json(path, indent=2)
    filled(5).to_json(path)
    assert len(json.loads(path.read_text())["records"]) == 5


def test_two_processes_that_save_to_one_path_leave_one_whole_store(tmp_path):
    path = tmp_path / "m.db"
    code = (
        "import sys, time\nfrom poincare_memory import Memory, HashingEmbedder\n"
        "memory = Memory(embedder=HashingEmbedder(dim=8))\nn = int(sys.argv[2])\n"
        "memory.add_many([{'text': f'note {i}', 'id': f'n{i}'} for i in range(n)])\n"
        "end = time.monotonic() + 1.0\n"
        "while time.monotonic() < end: memory.save(sys.argv[1])\n"
    )
    savers = [subprocess.Popen([sys.executable, "-c", code, str(path), n]) for n in ("50", "400")]
    sizes = set()
    while any(saver.poll() is None for saver in savers):
        with contextlib.suppress(FileNotFoundError):
            sizes.add(len(Memory.load(path)))
    assert [saver.wait() for saver in savers] == [0, 0]
    assert sizes <= {50, 400}
    assert sizes
    assert os.listdir(tmp_path) == ["m.db"]


def test_no_error_number_is_made_up():
    with pytest.raises(FileNotFoundError) as caught:
        Memory.load("missing.db")
    assert caught.value.errno == errno.ENOENT
