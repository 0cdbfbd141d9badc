#include "sqlite_reader.hpp"

#include <string>

#ifndef _WIN32
#include <dlfcn.h>
#endif

struct sqlite3_value;

namespace poincare {

// As sqlite3.h declares them, which it keeps compatible for good.
struct SqliteCalls {
    int (*open_v2)(const char*, sqlite3**, int, const char*);
    int (*close_v2)(sqlite3*);
    int (*exec)(sqlite3*, const char*, int (*)(void*, int, char**, char**), void*, char**);
    int (*prepare_v2)(sqlite3*, const char*, int, sqlite3_stmt**, const char**);
    int (*step)(sqlite3_stmt*);
    int (*finalize)(sqlite3_stmt*);
    int (*column_count)(sqlite3_stmt*);
    sqlite3_value* (*column_value)(sqlite3_stmt*, int);
    int (*value_type)(sqlite3_value*);
    std::int64_t (*value_int64)(sqlite3_value*);
    double (*value_double)(sqlite3_value*);
    const unsigned char* (*value_text)(sqlite3_value*);
    const void* (*value_blob)(sqlite3_value*);
    int (*value_bytes)(sqlite3_value*);
};

namespace {

constexpr int kOk = 0;
constexpr int kRow = 100;
constexpr int kDone = 101;
constexpr int kReadOnly = 0x1;
constexpr int kUri = 0x40;
constexpr int kNoMutex = 0x8000;

#ifdef _WIN32
SqliteCalls found_calls(const char*) {
    throw SqliteFailed("not looked for on this system");
}
#else
template <typename Call>
void find(void* library, const char* name, Call& call) {
    void* const found = dlsym(library, name);
    if (found == nullptr) throw SqliteFailed(std::string("SQLite's library shows no ") + name);
    call = reinterpret_cast<Call>(found);
}

// A name is looked for in the module and in the libraries it was linked to.
SqliteCalls found_calls(const char* module) {
    void* const library = dlopen(module, RTLD_LAZY);
    if (library == nullptr) throw SqliteFailed("Python's sqlite3 module cannot be opened");
    SqliteCalls calls{};
    find(library, "sqlite3_open_v2", calls.open_v2);
    find(library, "sqlite3_close_v2", calls.close_v2);
    find(library, "sqlite3_exec", calls.exec);
    find(library, "sqlite3_prepare_v2", calls.prepare_v2);
    find(library, "sqlite3_step", calls.step);
    find(library, "sqlite3_finalize", calls.finalize);
    find(library, "sqlite3_column_count", calls.column_count);
    find(library, "sqlite3_column_value", calls.column_value);
    find(library, "sqlite3_value_type", calls.value_type);
    find(library, "sqlite3_value_int64", calls.value_int64);
    find(library, "sqlite3_value_double", calls.value_double);
    find(library, "sqlite3_value_text", calls.value_text);
    find(library, "sqlite3_value_blob", calls.value_blob);
    find(library, "sqlite3_value_bytes", calls.value_bytes);
    return calls;
}
#endif

const SqliteCalls& calls_of(const char* module) {
    static const SqliteCalls calls = found_calls(module);  // looked for again where it was not found
    return calls;
}

}  // namespace

SqliteReader::SqliteReader(const char* module, const char* uri, const char* statement)
    : calls_(calls_of(module)) {
    try {
        check(calls_.open_v2(uri, &connection_, kReadOnly | kUri | kNoMutex, nullptr), kOk);
        // What a hostile schema calls, runs nothing.
        check(calls_.exec(connection_, "PRAGMA trusted_schema = OFF", nullptr, nullptr, nullptr), kOk);
        check(calls_.prepare_v2(connection_, statement, -1, &statement_, nullptr), kOk);
        width_ = calls_.column_count(statement_);
    } catch (...) {
        close();
        throw;
    }
}

SqliteReader::~SqliteReader() {
    close();
}

void SqliteReader::close() {
    calls_.finalize(statement_);
    calls_.close_v2(connection_);
}

void SqliteReader::check(int code, int expected) {
    if (code != expected) throw SqliteFailed("SQLite's error " + std::to_string(code));
}

bool SqliteReader::step() {
    if (done_) return false;  // SQLite would begin again
    const int code = calls_.step(statement_);
    done_ = code == kDone;
    if (!done_) check(code, kRow);
    return !done_;
}

SqliteValue SqliteReader::value(int column) const {
    sqlite3_value* const found = calls_.column_value(statement_, column);
    SqliteValue value{calls_.value_type(found), 0, 0.0, nullptr, 0};
    if (value.type == SqliteValue::kInteger) value.integer = calls_.value_int64(found);
    if (value.type == SqliteValue::kReal) value.real = calls_.value_double(found);
    if (value.type == SqliteValue::kText) value.data = calls_.value_text(found);
    if (value.type == SqliteValue::kBlob)
        value.data = static_cast<const unsigned char*>(calls_.value_blob(found));
    if (value.type == SqliteValue::kText || value.type == SqliteValue::kBlob) {
        value.size = static_cast<std::size_t>(calls_.value_bytes(found));
        if (value.data == nullptr && value.size > 0) throw SqliteFailed("SQLite is out of memory");
    }
    return value;
}

}  // namespace poincare
