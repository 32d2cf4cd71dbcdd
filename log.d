log.o: base/log.c base/log.h base/background.h base/instant.h \
  base/log_line.h

base/log.h:

base/background.h:

base/instant.h:

base/log_line.h:
