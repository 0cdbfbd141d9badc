// Rows of an SQLite file that nobody is writing, without Python's module in between: that makes an object of
// every value, and takes the connection's lock several times for each. The library is the one that the module
// uses: two of them in one process would drop each other's locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

struct sqlite3;
struct sqlite3_stmt;

namespace poincare {

struct SqliteCalls;  // of the library

// Also where the library cannot be reached. Python's module, asked the same, tells what is wrong.
struct SqliteFailed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct SqliteValue {
    enum Type { kInteger = 1, kReal = 2, kText = 3, kBlob = 4, kNull = 5 };  // as SQLite numbers them

    int type = kNull;
    std::int64_t integer = 0;
    double real = 0;
    const unsigned char* data = nullptr;  // of texts (UTF-8) and blobs; good until the next step
    std::size_t size = 0;
};

// One statement over one file; for one thread at a time.
class SqliteReader {
  public:
    // `module` is the file of Python's module, or null where it is part of the program.
    SqliteReader(const char* module, const char* uri, const char* statement);
    ~SqliteReader();
    SqliteReader(const SqliteReader&) = delete;
    SqliteReader& operator=(const SqliteReader&) = delete;

    bool step();  // whether there is another row
    int width() const { return width_; }
    SqliteValue value(int column) const;

  private:
    void close();
    void check(int code, int expected);

    const SqliteCalls& calls_;
    sqlite3* connection_ = nullptr;
    sqlite3_stmt* statement_ = nullptr;
    int width_ = 0;
    bool done_ = false;
};

}  // namespace poincare
