#include "writeback.hpp"

#ifdef __linux__
#include <fcntl.h>
#endif

namespace poincare {

void start_writeback([[maybe_unused]] int descriptor) {
#ifdef __linux__
    sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);  // from the beginning to the end
#endif
}

}  // namespace poincare
