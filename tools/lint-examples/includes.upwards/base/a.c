#include "proxy/http.h"
