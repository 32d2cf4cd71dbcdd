find.o: tailorctl/find.c tailorctl/admin_request.h http/client/client.h \
  base/instant.h tailorctl/options.h base/command_line.h base/terminal.h \
  base/json.h base/text.h

tailorctl/admin_request.h:

http/client/client.h:

base/instant.h:

tailorctl/options.h:

base/command_line.h:

base/terminal.h:

base/json.h:

base/text.h:
