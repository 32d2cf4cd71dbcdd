#include "base/topology_read.h"
