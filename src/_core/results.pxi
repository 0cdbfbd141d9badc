# What a search hands out, as Python objects: among a few thousand memories these take longer than the scan.
cimport cython
from libc.stdlib cimport calloc, free

cdef extern from *:
    """
    #include <structmember.h>

    // An object of `kind`, a class that Python made over the native class `native`, with nothing of Python's run.
    static PyObject* poincare_bound_object(PyTypeObject* kind, PyTypeObject* native) {
        PyObject* const none = PyTuple_New(0);
        PyObject* const made = none ? native->tp_new(kind, none, nullptr) : nullptr;
        Py_XDECREF(none);
        return made;
    }
    static bool poincare_is_alive(PyObject* object) { return object && Py_REFCNT(object) > 0; }

    // An object of a class whose slots are empty, and these filled.
    static PyObject* poincare_new_object(PyTypeObject* kind) { return kind->tp_alloc(kind, 0); }
    static void poincare_fill_slot(PyObject* object, Py_ssize_t place, PyObject* value) {
        Py_INCREF(value);
        *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + place) = value;
    }
    static Py_ssize_t poincare_slot_place(PyTypeObject* kind, PyObject* member) {
        PyMemberDescrObject* const slot = reinterpret_cast<PyMemberDescrObject*>(member);
        if (Py_TYPE(member) == &PyMemberDescr_Type && PyType_IsSubtype(kind, slot->d_common.d_type))
            return slot->d_member->offset;
        PyErr_Format(PyExc_TypeError, "expected a slot of %s, got %R", kind->tp_name, member);
        return -1;
    }
    """
    object poincare_bound_object(type kind, type native)
    bint poincare_is_alive(PyObject*)
    object poincare_new_object(type kind)
    void poincare_fill_slot(object, Py_ssize_t place, object value)
    Py_ssize_t poincare_slot_place(type kind, member) except -1


cdef class HeldRecords


@cython.no_gc_clear  # whoever looks a record up while a cycle it is part of is taken apart gets a whole one
cdef class BoundRecord:
    """What `StoredRecord` is bound to: a row of columns, or the last values of what was there."""

    cdef readonly object _columns, _last
    cdef readonly Py_ssize_t _row
    cdef HeldRecords held

    def __dealloc__(self):
        if self.held is not None:
            self.held.forget(self._row, <PyObject*>self)

    def _read(self, str name, read):
        """``read(columns, row)``, or the attribute `name` of the last values."""
        if self._last is None:
            try:
                value = read(self._columns, self._row)
            except IndexError:  # the store was emptied just now
                pass
            else:
                if self._last is None:
                    return value
        return getattr(self._last, name)

    cdef object read_list(self, str name, list values):
        if self._last is None and self._row < len(values):
            value = values[self._row]
            if self._last is None:
                return value
        return getattr(self._last, name)

    @property
    def id(self):
        return self.read_list("id", self._columns.ids)

    @id.setter
    def id(self, value):
        raise AttributeError("the id of a stored memory cannot change; add it under the new id and remove this one")

    @property
    def text(self):
        return self.read_list("text", self._columns.texts)

    @text.setter
    def text(self, value):
        raise AttributeError("a new text moves the memory: use Memory.update(id, text=...)")


cdef class HeldRecords:
    """The records of a store that somebody holds: one object a row, as long as it is held.

    A table by row of references that do not count: a record takes itself out when it goes. The columns own this and not
    the other way round: a cycle would keep all vectors of a store that nobody uses until the garbage collector comes by.
    """

    cdef type kind
    cdef PyObject** at
    cdef Py_ssize_t room

    def __cinit__(self, type kind not None):
        self.kind = kind  # a class over `BoundRecord`

    def __dealloc__(self):
        free(self.at)

    def __len__(self):
        cdef Py_ssize_t row
        return sum(poincare_is_alive(self.at[row]) for row in range(self.room))

    cdef BoundRecord find(self, Py_ssize_t row):
        if 0 <= row < self.room and poincare_is_alive(self.at[row]):
            return <BoundRecord>self.at[row]
        return None

    cdef void forget(self, Py_ssize_t row, PyObject* record) noexcept:
        if 0 <= row < self.room and self.at[row] == record:
            self.at[row] = NULL

    cdef int put(self, Py_ssize_t row, BoundRecord record) except -1:
        cdef PyObject** larger
        cdef Py_ssize_t room
        if row < 0:
            raise ValueError(f"row: expected a number from 0 on, got {row}")
        if row >= self.room:
            room = row + row // 2 + 64
            larger = <PyObject**>calloc(room, sizeof(PyObject*))  # what no record ever used is address space, no memory
            if larger is NULL:
                raise MemoryError()
            if self.room:
                _memcpy(larger, self.at, self.room * sizeof(PyObject*))
            free(self.at)
            self.at, self.room = larger, room
        self.at[row] = <PyObject*>record
        record._row, record.held = row, self
        return 0

    cdef BoundRecord record(self, columns, Py_ssize_t row):
        cdef BoundRecord found = self.find(row)
        if found is not None:
            return found
        cdef BoundRecord made = poincare_bound_object(self.kind, BoundRecord)
        found = self.find(row)  # made by what ran where the collector came by
        if found is not None:
            return found
        made._columns = columns
        self.put(row, made)
        return made

    def of(self, columns not None, Py_ssize_t row):
        """The record of a row, made where nobody holds one."""
        return self.record(columns, row)

    def many(self, columns not None, list rows not None):
        """Records of rows, which may repeat."""
        cdef Py_ssize_t row
        cdef list found = []
        for row in rows:
            found.append(self.record(columns, row))
        return found

    def held(self, Py_ssize_t row):
        """The record of a row if somebody holds it."""
        return self.find(row)

    def release(self, list rows not None):
        """Let records keep their last values: their rows are about to be freed."""
        cdef Py_ssize_t row
        cdef BoundRecord record
        for row in rows:  # all before any is freed: a record also reads its parent's row
            record = self.find(row)
            if record is not None:
                record._last = record.snapshot()
                self.at[row] = NULL

    def rebind(self, Py_ssize_t row, BoundRecord record not None):
        """A released record whose memory came back."""
        self.put(row, record)
        record._last = None

    def renumber(self, const int32_t[::1] now not None):
        """Rows have other numbers now."""
        cdef Py_ssize_t row
        cdef BoundRecord record
        cdef list held = [self.find(row) for row in range(self.room) if poincare_is_alive(self.at[row])]
        for record in held:
            self.forget(record._row, <PyObject*>record)
        for record in held:
            self.put(now[record._row], record)


cdef enum:
    kResultFields = 7


def search_results(type kind not None, tuple members not None, HeldRecords held not None, columns not None,
                   list found not None, const int32_t[::1] rows, const double[::1] radius not None):
    """For each list of hits (position, score, distance, weight) one of objects of `kind`.

    A position is one in `rows`, where these are given, or a row. `members` are the slots of `kind`: for the record, the score,
    the distance, the weight, the depth, and two that are None.
    """
    cdef Py_ssize_t at[kResultFields]
    cdef Py_ssize_t row, i
    cdef list hits, results, answers = []
    cdef tuple hit
    if len(members) != kResultFields:
        raise ValueError(f"members: expected {kResultFields}, got {len(members)}")
    for i in range(kResultFields):
        at[i] = poincare_slot_place(kind, members[i])
    for hits in found:
        results = []
        for hit in hits:
            row = hit[0]
            if rows is not None:
                row = rows[row]
            result = poincare_new_object(kind)
            poincare_fill_slot(result, at[0], held.record(columns, row))
            for i in range(1, 4):
                poincare_fill_slot(result, at[i], hit[i])
            poincare_fill_slot(result, at[4], radius[row])
            poincare_fill_slot(result, at[5], None)
            poincare_fill_slot(result, at[6], None)
            results.append(result)
        answers.append(results)
    return answers
