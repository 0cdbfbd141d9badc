"""Many readers or one writer, re-entrant, across threads and fork."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from poincare_memory.store import lock as lock_module
from poincare_memory.store.lock import SharedLock

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
# Python 3.12 warns of every fork among threads; forking among threads is what these tests are about.
threads_and_fork = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")


def in_thread(work: Callable[[], Any]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@contextlib.contextmanager
def held_elsewhere(held: AbstractContextManager[Any]) -> Iterator[None]:
    """A thread of its own is inside until the end of the block."""
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with held:
            entered.set()
            leave.wait(10)

    thread = in_thread(hold)
    assert entered.wait(5)
    try:
        yield
    finally:
        leave.set()
        thread.join(5)
    assert not thread.is_alive()


def test_nesting() -> None:
    lock = SharedLock()
    with lock.write(), lock.write(), lock.read(), lock.read():
        assert lock.held_by_me()
    with lock.read(), lock.read():
        assert lock.held_by_me()
    assert not lock.held_by_me()


def test_a_reader_may_not_become_a_writer() -> None:
    lock = SharedLock()
    with lock.read(), pytest.raises(RuntimeError, match="cannot start to write"):
        lock.acquire_write()
    with lock.write():
        pass


def test_readers_side_by_side_writers_alone() -> None:
    lock = SharedLock()
    inside, most, log = [0], [0], []
    together = threading.Barrier(3, timeout=10)

    def read() -> None:
        with lock.read():
            together.wait()  # breaks unless all three are inside at once

    threads = [in_thread(read) for _ in range(3)]
    for thread in threads:
        thread.join(10)
    assert not together.broken

    def write(name: int) -> None:
        for _ in range(200):
            with lock.write():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                log.append(name)
                inside[0] -= 1

    threads = [in_thread(lambda i=i: write(i)) for i in range(3)]
    for thread in threads:
        thread.join(10)
    assert most == [1]
    assert len(log) == 600


def test_a_stream_of_readers_does_not_starve_a_writer() -> None:
    lock, stop, written = SharedLock(), threading.Event(), threading.Event()

    def read() -> None:
        while not stop.is_set():
            with lock.read():
                time.sleep(0.002)

    readers = [in_thread(read) for _ in range(4)]
    in_thread(lambda: (lock.acquire_write(), written.set(), lock.release_write()))
    assert written.wait(5)
    stop.set()
    for thread in readers:
        thread.join(5)


def test_a_waiting_writer_lets_a_reader_enter_again() -> None:
    lock = SharedLock()
    with lock.read():
        writer = in_thread(lambda: (lock.acquire_write(), lock.release_write()))
        while not lock.writers_waiting:
            time.sleep(0.001)
        with lock.read():
            pass
    writer.join(5)
    assert not writer.is_alive()


def test_an_exception_releases() -> None:
    lock = SharedLock()
    for side in (lock.read, lock.write):
        with pytest.raises(ZeroDivisionError), side():
            raise ZeroDivisionError
        assert not lock.held_by_me()
    assert lock.acquire_write(0.1)


def test_patience() -> None:
    lock = SharedLock()
    with held_elsewhere(lock.read()):
        assert lock.acquire_write(0.02) is False
    assert lock.acquire_write(5) is True
    lock.release_write()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no alarms")
@pytest.mark.parametrize("side", ["read", "write"])
def test_ctrl_c_ends_the_wait_and_leaves_the_lock_to_others(side: str) -> None:
    lock = SharedLock()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with held_elsewhere(lock.write()):
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(KeyboardInterrupt):
                getattr(lock, f"acquire_{side}")()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert not lock.held_by_me() and lock.writers_waiting == 0
        others = [in_thread(lambda: (lock.acquire_write(), lock.release_write())) for _ in range(2)]
    for other in others:
        other.join(5)
        assert not other.is_alive()
    with lock.write(), lock.read():
        pass


def test_a_writer_that_loses_patience_lets_readers_go_on() -> None:
    lock = SharedLock()
    with lock.read():
        writer = in_thread(lambda: lock.acquire_write(0.2))
        while not lock.writers_waiting:
            time.sleep(0.001)
        reader = in_thread(lambda: (lock.acquire_read(), lock.release_read()))
        writer.join(5)
        reader.join(5)
        assert not reader.is_alive() and lock.writers_waiting == 0


def test_who_looks_again_is_woken_once_for_each_wait() -> None:
    """A bell that rings as the time of its wait runs out is no bell of the next one's."""
    lock, written, failed = SharedLock(), [0], list[BaseException]()
    lock.look_again = 0.0005

    def work() -> None:
        try:
            for turn in range(40):
                with lock.write():
                    written[0] += 1
                    time.sleep(0.0005 * (turn % 3))
                with lock.read():
                    pass
        except BaseException as error:
            failed.append(error)

    threads = [in_thread(work) for _ in range(6)]
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not failed
    assert written == [240]


def test_writers_go_in_the_order_they_came() -> None:
    lock, order = SharedLock(), list[int]()

    def write(number: int) -> None:
        with lock.write():
            order.append(number)

    threads = []
    with lock.read():
        for number in range(5):
            threads.append(in_thread(lambda number=number: write(number)))
            while lock.writers_waiting <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join(5)
    assert order == [0, 1, 2, 3, 4]


def test_readers_and_writers_of_many_threads_exclude_each_other() -> None:
    lock, stop = SharedLock(), threading.Event()
    writing, wrong, done = [0], list[str](), [0] * 8

    def work(number: int) -> None:
        draw = random.Random(number)
        while not stop.is_set():
            if draw.random() < 0.5:
                with lock.read(), lock.read():
                    if writing[0]:
                        wrong.append("a reader beside a writer")
            elif lock.acquire_write(draw.choice([None, 0.0, 0.001])):
                with lock.write(), lock.read():
                    writing[0] += 1
                    if writing[0] != 1:
                        wrong.append("two writers")
                    if draw.random() < 0.05:
                        time.sleep(0.0001)
                    writing[0] -= 1
                lock.release_write()
            done[number] += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [in_thread(lambda i=i: work(i)) for i in range(8)]
        time.sleep(0.7)
        stop.set()
        for thread in threads:
            thread.join(10)
    finally:
        sys.setswitchinterval(before)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == [] and min(done) > 0
    assert lock.acquire_write(0)


def forked(work: Callable[[], Any]) -> int:
    """Exit status of a child that does `work` within five seconds."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(5)
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the platform has no such signals")
@threads_and_fork
@pytest.mark.parametrize("handled", ["read", "write", "fork"])
@pytest.mark.parametrize("waiting", ["read", "write"])
def test_a_signal_handler_uses_the_lock_its_thread_waits_for(waiting: str, handled: str) -> None:
    lock, parent = SharedLock(), os.getpid()
    entered = threading.Event()
    done: list[str] = []
    children: list[int] = []

    def handle(*_: Any) -> None:
        if handled == "fork":
            children.append(os.fork())
            signal.alarm(20)  # no child has its parent's
            return
        with getattr(lock, handled)():
            done.append(handled)

    def hold() -> None:
        with lock.write():
            entered.set()
            time.sleep(0.1)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
            time.sleep(0.1)

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        thread = in_thread(hold)
        assert entered.wait(5)
        signal.alarm(20)  # it waited for itself, for ever
        with getattr(lock, waiting)():
            done.append("waited")
        if os.getpid() != parent:
            os._exit(0 if lock.acquire_write(1) and not lock.writers_waiting else 1)
        signal.alarm(0)
    finally:
        if os.getpid() != parent:
            os._exit(2)
        signal.signal(signal.SIGUSR1, before)
    thread.join(5)
    assert lock.writers_waiting == 0 and not lock.held_by_me()
    if handled == "fork":
        assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0
    else:
        assert done == [handled, "waited"]


@forking
@threads_and_fork
@pytest.mark.parametrize("side", ["read", "write"])
def test_a_child_inherits_no_held_lock(side: str) -> None:
    lock = SharedLock()
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            with getattr(lock, side)():
                time.sleep(0.003)

    threads = [in_thread(busy) for _ in range(2)]

    def use() -> None:
        with lock.write(), lock.read():
            pass

    try:
        assert [forked(use) for _ in range(5)] == [0] * 5
    finally:
        stop.set()
        for thread in threads:
            thread.join(5)
    with lock.write():
        pass


@forking
@threads_and_fork
def test_fork_waits_for_a_write_to_finish() -> None:
    lock = SharedLock()
    halves = [0, 0]
    started = threading.Event()

    def write() -> None:
        with lock.write():
            halves[0] = 1
            started.set()
            time.sleep(0.2)
            halves[1] = 1

    thread = in_thread(write)
    assert started.wait(5)

    def look() -> None:
        assert halves == [1, 1]

    assert forked(look) == 0
    thread.join(5)


@forking
@pytest.mark.parametrize("side", ["read", "write"])
def test_the_forking_thread_keeps_what_it_holds(side: str) -> None:
    lock = SharedLock()

    def leave() -> None:
        assert lock.held_by_me()
        getattr(lock, f"release_{side}")()
        assert not lock.held_by_me()
        assert lock.acquire_write(1)

    with getattr(lock, side)():
        assert forked(leave) == 0
        assert lock.held_by_me()


@forking
@threads_and_fork
def test_fork_does_not_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lock_module, "FORK_PATIENCE_SECONDS", 0.05)
    lock = SharedLock()
    with held_elsewhere(lock.write()):
        with caplog.at_level(logging.WARNING, "poincare_memory"):
            assert forked(lock.acquire_write) == 0
        assert "forking anyway" in caplog.text


def test_threads_that_fork_at_once_hold_each_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    held, left = threading.Event(), threading.Event()

    class Handed(SharedLock):
        def release_write(self) -> Any:
            super().release_write()
            held.wait(10)  # until the other thread has it

    lock = Handed()
    monkeypatch.setattr(lock_module, "_every_lock", {lock})
    still_held = []

    def other() -> None:
        lock_module._before_fork()
        held.set()
        left.wait(10)
        still_held.append(lock.written_by_me())
        lock_module._after_fork_in_parent()

    lock_module._before_fork()
    thread = in_thread(other)
    while not lock.writers_waiting:
        time.sleep(0.001)
    lock_module._after_fork_in_parent()
    left.set()
    thread.join(10)
    assert still_held == [True]
    assert not lock.held_by_me()
