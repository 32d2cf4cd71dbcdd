check.o: config/check.c config/address.h config/config.h base/json.h \
  base/text.h base/instant.h config/judge.h config/keys.h \
  base/quantity.h config/source.h config/value.h

config/address.h:

config/config.h:

base/json.h:

base/text.h:

base/instant.h:

config/judge.h:

config/keys.h:

base/quantity.h:

config/source.h:

config/value.h:
