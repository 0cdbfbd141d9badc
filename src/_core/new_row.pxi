# One memory into the columns of a store, in one step: no code of Python's runs in between, so no Ctrl-C comes between.
cdef enum:  # places in _NEW_ROW_FIELDS
    kRadius
    kLevel
    kParent
    kFirstChild
    kLastChild
    kNextSibling
    kPrevSibling
    kT
    kValidFrom
    kValidUntil
    kRecordedAt
    kAgedFrom
    kPinned
    kOrder
    kAttached
    kChangedAt
    kOwn
    kAbove
    kDirected
    kLearnt
    kDirection
    kLive
    kWritten
    kNewRowFields

cdef tuple _NEW_ROW_FIELDS = (
    "radius", "level", "parent", "first_child", "last_child", "next_sibling", "prev_sibling",
    "t", "valid_from", "valid_until", "recorded_at", "aged_from", "pinned",
    "order", "attached", "changed_at", "own", "above", "directed", "learnt", "direction", "_live", "_written",
)


cdef class RowWriter:
    """Writes new rows of `Columns`. It knows where their arrays are: each is looked at again only once it is another."""

    cdef list arrays
    cdef void* at[kNewRowFields]
    cdef Py_ssize_t rows[kNewRowFields]
    cdef Py_ssize_t dim, written_size
    cdef vector[double] spare
    cdef bint in_memory

    def __init__(self, bint in_memory):
        """`in_memory`: rows within the arrays' length can be written without asking for a disk's room."""
        self.in_memory = in_memory
        self.forget()

    def forget(self):
        """Hold no array any more."""
        self.arrays = [None] * kNewRowFields
        for i in range(kNewRowFields):
            self.at[i] = NULL
            self.rows[i] = 0

    cdef int look(self, dict fields) except -1:
        cdef Py_ssize_t i
        order = fields["order"]
        if order is not self.arrays[kOrder]:  # those of one number a row are replaced together
            for i in range(kDirection):
                self.look_at(i, fields[_NEW_ROW_FIELDS[i]])
        for i in range(kDirection, kNewRowFields):
            array = fields[_NEW_ROW_FIELDS[i]]
            if array is not self.arrays[i]:
                self.look_at(i, array)
        return 0

    cdef int look_at(self, Py_ssize_t i, array) except -1:
        cdef Py_buffer buffer
        self.at[i] = NULL
        self.rows[i] = 0
        self.arrays[i] = None
        if array is None:
            return 0
        PyObject_GetBuffer(array, &buffer, PyBUF_CONTIG)
        self.at[i] = buffer.buf
        self.rows[i] = buffer.shape[0]
        if i == kDirection:
            self.dim = buffer.shape[1]
            self.spare.resize(<size_t>self.dim)
        if i == kWritten:
            self.written_size = buffer.itemsize
        PyBuffer_Release(&buffer)
        self.arrays[i] = array
        return 0

    def append(self, columns not None, str id, str text not None, meta, parent, int64_t t, int64_t valid_from,
               int64_t valid_until, int64_t recorded_at, bint pinned, embedding, tuple rule not None):
        """One more memory in a row of its own, in its place, below the memory `parent` (None: a root); its id.

        An `id` of None is made up. None is returned where it is in use already, or there is no such parent. Then, and
        where it fails, nothing has changed.
        """
        cdef dict fields = columns.__dict__
        cdef PyObject* found
        cdef int32_t above = -1
        row_of = fields["row_of"]
        if id is None:
            id = _new_id(row_of)
        elif id in row_of:
            return None
        if parent is not None:
            found = PyDict_GetItemWithError(<dict>row_of, parent)
            if found is NULL:
                return None
            above = <object>found
        cdef Py_buffer numbers
        PyObject_GetBuffer(embedding, &numbers, PyBUF_CONTIG_RO)
        try:
            if not self.in_memory or not self.has_room(fields, numbers.itemsize):
                columns.make_room_for_one(embedding.dtype)
                self.look(fields)
            if numbers.ndim != 2 or numbers.shape[0] != 1 or numbers.shape[1] != self.dim:
                raise ValueError(f"embedding: expected shape (1, {self.dim}), got {embedding.shape}")
            number = self.write(fields, id, text, meta, above, t, valid_from, valid_until, recorded_at, pinned,
                                embedding, &numbers, rule)
        finally:
            PyBuffer_Release(&numbers)
        if fields["undo"] is not None:
            _note_in_log(columns, number)
        return id

    cdef bint has_room(self, dict fields, Py_ssize_t itemsize) except -1:
        """Whether the arrays take one row more as they are."""
        self.look(fields)
        cdef Py_ssize_t used = fields["high_water"], n = fields["n"], row = used
        cdef list free = fields["_free_rows"]
        if free:
            row = free[len(free) - 1]
        if used == 0 or row >= self.rows[kOrder] or n >= self.rows[kLive] and fields["_live_count"] is not None:
            return False
        if self.at[kWritten] is NULL:
            return itemsize == sizeof(float)
        return itemsize == self.written_size and row < self.rows[kWritten]

    cdef object write(self, dict fields, str id, str text, meta, int32_t parent, int64_t t, int64_t valid_from,
                   int64_t valid_until, int64_t recorded_at, bint pinned, embedding, Py_buffer* numbers,
                   tuple rule):
        cdef list free = fields["_free_rows"], ids = fields["ids"], texts = fields["texts"], metas = fields["metas"]
        cdef dict held = fields["_held"]
        row_of = fields["row_of"]
        cdef Py_ssize_t used = fields["high_water"], n = fields["n"], i
        cdef bint again = len(free) > 0, all_live = fields["_live_count"] is not None, kept
        number = free[len(free) - 1] if again else used
        cdef int32_t row = number
        for i in range(kLive):
            if row >= self.rows[i]:
                raise ValueError(f"{_NEW_ROW_FIELDS[i]}: no room for row {row}")
        if all_live and n >= self.rows[kLive]:
            raise ValueError(f"_live: no room for {n + 1} rows")
        # What may fail comes first: the row's own numbers, which nobody reads yet, and then whatever takes memory.
        cdef int64_t order = fields["_next_order"], version = fields["structure_version"] + 1
        more, next_order, new_version, new_value = n + 1, order + 1, version, fields["value_version"] + 1
        beyond = used + 1
        cdef Py_ssize_t length = len(ids)
        try:
            (<int32_t*>self.at[kParent])[row] = parent
            kept = self.place(row, numbers, rule)
            row_of[id] = number
            if kept:
                held[number] = embedding[0]
            elif held:
                held.pop(number, None)
            if not again:
                ids.append(id)
                texts.append(text)
                metas.append(meta)
            fields["_journal"].append((new_version, number))
        except BaseException:
            self.blank_place(row)
            row_of.pop(id, None)
            held.pop(number, None)
            if not again:
                del ids[length:], texts[length:], metas[length:]
            raise
        if again:
            ids[row], texts[row], metas[row] = id, text, meta
            free.pop()
        else:
            fields["high_water"] = beyond
        (<int64_t*>self.at[kT])[row] = t
        (<int64_t*>self.at[kValidFrom])[row] = valid_from
        (<int64_t*>self.at[kValidUntil])[row] = valid_until
        (<int64_t*>self.at[kRecordedAt])[row] = recorded_at
        (<int64_t*>self.at[kAgedFrom])[row] = kLatestInstant if pinned else t
        (<uint8_t*>self.at[kPinned])[row] = pinned
        (<int64_t*>self.at[kOrder])[row] = (<int64_t*>self.at[kAttached])[row] = order
        (<int64_t*>self.at[kChangedAt])[row] = version
        c_attach_rows(self.links(), &row, &parent, 1)
        if all_live:
            (<int32_t*>self.at[kLive])[n] = row
            fields["_live_count"] = more
        fields["_next_order"] = next_order
        fields["structure_version"] = new_version
        fields["value_version"] = new_value
        fields["n"] = more
        return number

    cdef TreeLinks links(self):
        cdef TreeLinks links
        links.parent = <int32_t*>self.at[kParent]
        links.first_child = <int32_t*>self.at[kFirstChild]
        links.last_child = <int32_t*>self.at[kLastChild]
        links.next_sibling = <int32_t*>self.at[kNextSibling]
        links.prev_sibling = <int32_t*>self.at[kPrevSibling]
        return links

    cdef void blank_place(self, int32_t row) noexcept:
        (<int32_t*>self.at[kParent])[row] = -1
        (<int32_t*>self.at[kLevel])[row] = 0
        (<double*>self.at[kRadius])[row] = 0
        (<double*>self.at[kOwn])[row] = (<double*>self.at[kAbove])[row] = 0
        (<uint8_t*>self.at[kDirected])[row] = (<uint8_t*>self.at[kLearnt])[row] = 0

    cdef bint place(self, int32_t row, Py_buffer* numbers, tuple rule) except -1:
        """Place and embedding of a row whose parent is set; whether the embedding must be held apart."""
        if numbers.itemsize == sizeof(float):
            return self.place_numbers(row, <const float*>numbers.buf, rule)
        return self.place_numbers(row, <const double*>numbers.buf, rule)

    cdef bint place_numbers(self, int32_t row, const placed_float* numbers, tuple rule) except -1:
        cdef PlacementColumns[placed_float] columns
        cdef uint8_t kept = 0
        cdef Py_ssize_t i
        columns.embedding = numbers
        columns.direction = <double*>self.at[kDirection]
        columns.parent = <int32_t*>self.at[kParent]
        columns.radius = <double*>self.at[kRadius]
        columns.level = <int32_t*>self.at[kLevel]
        columns.directed = <uint8_t*>self.at[kDirected]
        columns.learnt = <uint8_t*>self.at[kLearnt]
        columns.dim = <size_t>self.dim
        if self.at[kWritten] is NULL:  # directions hold it
            if placed_float is double:
                raise ValueError("embedding: expected float32, as all others are")
            columns.own, columns.above, columns.kept = <double*>self.at[kOwn], <double*>self.at[kAbove], &kept
        if placed_float is float:
            c_place_row_alone_f32(columns, row, _placement_rule(rule), self.spare.data())
        else:
            c_place_row_alone_f64(columns, row, _placement_rule(rule), self.spare.data())
        if self.at[kWritten] is NULL:
            return kept
        if row >= self.rows[kWritten]:
            raise ValueError(f"_written: no room for row {row}")
        cdef Py_ssize_t begin = row * self.dim
        if self.written_size == sizeof(double):
            for i in range(self.dim):
                (<double*>self.at[kWritten])[begin + i] = numbers[i]
        elif placed_float is float:
            _memcpy(<float*>self.at[kWritten] + begin, numbers, <size_t>self.dim * sizeof(float))
        else:
            raise ValueError("embedding: expected float32, as all others are")
        return False


cdef int _note_in_log(columns, number) except -1:
    row, undo = _np.array((number,), _np.int32), columns.undo
    steps = undo.length
    try:
        undo.allocated(row)
    except BaseException:  # a KeyboardInterrupt before the log knew
        if undo.length == steps:
            columns.discard(row)
        raise
    return 0


cdef str _new_id(row_of):
    while True:
        id = _os.urandom(6).hex()
        if id not in row_of:
            return id
