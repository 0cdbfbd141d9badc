#pragma once

namespace poincare {}
