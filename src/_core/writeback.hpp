// Lets the system begin to write a file's pages to the disk, and does not wait for it.
#pragma once

namespace poincare {

// A hint: the flush that follows finds less to wait for, and is what tells of errors. Does nothing where the
// system has no such call.
void start_writeback(int descriptor);

}  // namespace poincare
