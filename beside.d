beside.o: daemon/beside.c daemon/beside.h base/terminal.h base/json.h \
  base/text.h base/instant.h config/config.h http/client/client.h

daemon/beside.h:

base/terminal.h:

base/json.h:

base/text.h:

base/instant.h:

config/config.h:

http/client/client.h:
