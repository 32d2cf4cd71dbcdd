places.o: config/places.c config/config.h base/json.h base/text.h \
  base/instant.h config/keys.h base/quantity.h

config/config.h:

base/json.h:

base/text.h:

base/instant.h:

config/keys.h:

base/quantity.h:
