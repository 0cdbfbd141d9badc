# Many readers or one writer. Nothing here lets another thread run but waiting for a bell: all else is one step, for other
# threads and for Ctrl-C. (An allocation that the garbage collector follows may run finalizers, which may: there is none
# between a look at the state and what is done about it.)
#
# Threads are told apart by the number of their state, which no later one is given: what `threading.get_ident` says of a
# thread that ended, it soon says of another.
import threading as _threading
import time as _time

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    PyThreadState* PyThreadState_Get()
    unsigned long long PyThreadState_GetID(PyThreadState* state)

cdef double LOOK_AGAIN_SECONDS = 0.25


cdef inline object this_thread():
    return PyThreadState_GetID(PyThreadState_Get())


cdef class ReadersOrWriter:
    """State of a `SharedLock`, and who waits for it to change."""

    cdef dict readers  # thread -> how many times it entered
    cdef object writer  # thread, or None
    cdef Py_ssize_t writer_depth
    cdef list queue  # threads that wait to write, first come first served
    cdef list bells  # a held lock for each waiting thread, which is released to wake it
    cdef readonly object reading, writing
    cdef public double look_again  # seconds; then who waits looks whether the thread that has it still runs
    cdef public object block  # a `changes.Transaction` that has it: its thread may end before it does

    def __init__(self):
        self.look_again = LOOK_AGAIN_SECONDS
        self.readers = {}
        self.writer = None
        self.writer_depth = 0
        self.queue = []
        self.bells = []
        self.reading = Reading(self)
        self.writing = Writing(self)

    def read(self):
        """Context manager: shared with other readers."""
        return self.reading

    def write(self):
        """Context manager: alone."""
        return self.writing

    @property
    def writers_waiting(self):
        """How many threads wait to write."""
        return len(self.queue)

    def held_by_me(self):
        """Whether the calling thread reads or writes now."""
        me = this_thread()
        return self.writer == me or me in self.readers

    def written_by_me(self):
        """Whether the calling thread writes now."""
        return self.writer == this_thread()

    def refuse_reader(self):
        """RuntimeError where the calling thread reads: two readers that ask to write wait for ever."""
        self.refuse(this_thread())

    cdef int refuse(self, me) except -1:
        if me in self.readers:
            raise RuntimeError("a thread that reads the store cannot start to write it; leave the read first")
        return 0

    cpdef acquire_read(self):
        """Wait for the lock, beside other readers."""
        me = this_thread()
        if (self.writer is not None or self.queue) and me not in self.readers and self.writer != me:
            self.wait_to_read(me)
        self.readers[me] = self.readers.get(me, 0) + 1

    cdef int wait_to_read(self, me) except -1:
        bell = _bell()
        # Who stands in the queue itself is a signal handler, on top of what waits to write: it would wait for itself.
        while self.writer is not None or (self.queue and me not in self.queue):
            self.wait(bell, None)
        return 0

    cpdef release_read(self):
        """Leave it as often as it was entered."""
        me = this_thread()
        depth = self.readers.pop(me) - 1
        if depth:
            self.readers[me] = depth
        elif self.queue:
            self.wake_all()

    cpdef bint acquire_write(self, patience=None) except -1:
        """Wait for the lock, at most `patience` seconds (None: for ever); whether it was had."""
        me = this_thread()
        if self.writer == me:
            self.writer_depth += 1
            return True
        self.refuse(me)
        if self.writer is not None or self.readers or self.queue:
            return self.wait_to_write(me, patience)
        self.writer, self.writer_depth = me, 1
        return True

    cdef bint wait_to_write(self, me, patience) except -1:
        bell, left = _bell(), None
        deadline = None if patience is None else _time.monotonic() + patience
        self.queue.append(me)
        try:
            while self.writer is not None or self.readers or self.queue[0] != me:
                if deadline is not None:
                    left = deadline - _time.monotonic()
                    if left <= 0:
                        return False
                self.wait(bell, left)
            self.writer, self.writer_depth = me, 1
            return True
        finally:
            self.queue.remove(me)
            if self.writer != me:
                self.wake_all()

    cpdef release_write(self):
        """Leave it as often as it was entered."""
        self.writer_depth -= 1
        if self.writer_depth == 0:
            self.writer = None
            self.wake_all()

    cdef int wait(self, bell, patience) except -1:
        rung = False
        self.bells.append(bell)
        try:
            rung = bell.acquire(True, self.look_again if patience is None else min(patience, self.look_again))
        finally:
            if not rung and bell in self.bells:
                self.bells.remove(bell)
            elif not rung:
                rung = bell.acquire(False)  # rung as the time ran out: silent again, for the next wait
        if not rung:
            self.end_abandoned()
        return 0

    def end_abandoned(self):
        """Take back the transaction of a thread that ended inside it, if that is what has the lock."""
        block = self.block
        if block is None or not block.is_abandoned():
            return
        me = this_thread()
        if self.block is block:  # no other thread was quicker
            self.block = None
            self.writer, self.writer_depth = me, 1
            block.take_back()

    cdef int wake_all(self) except -1:
        while self.bells:
            self.bells.pop().release()
        return 0

    def keep_only_me(self):
        """Forget all other threads; what the calling one holds it will also release."""
        me = this_thread()
        depth = self.readers.get(me)
        self.readers = {} if depth is None else {me: depth}
        self.queue = [one for one in self.queue if one == me]  # a signal handler may fork on top of what waits
        if self.writer != me:
            self.writer, self.writer_depth, self.block = None, 0, None
        self.wake_all()


cdef object _bell():
    bell = _threading.Lock()
    bell.acquire()
    return bell


cdef class Reading:
    cdef ReadersOrWriter lock

    def __init__(self, ReadersOrWriter lock not None):
        self.lock = lock

    def __enter__(self):
        self.lock.acquire_read()

    def __exit__(self, kind, error, trace):
        self.lock.release_read()


cdef class Writing:
    cdef ReadersOrWriter lock

    def __init__(self, ReadersOrWriter lock not None):
        self.lock = lock

    def __enter__(self):
        self.lock.acquire_write()

    def __exit__(self, kind, error, trace):
        self.lock.release_write()
