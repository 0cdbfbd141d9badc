#include "tree.hpp"
