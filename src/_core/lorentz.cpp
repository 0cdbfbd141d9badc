#include "lorentz.hpp"
