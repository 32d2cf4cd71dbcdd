inspect.o: daemon/inspect.c daemon/inspect.h base/array.h base/topology.h \
  config/config.h base/json.h base/text.h base/instant.h

daemon/inspect.h:

base/array.h:

base/topology.h:

config/config.h:

base/json.h:

base/text.h:

base/instant.h:
