reports.o: tailorctl/reports.c base/instant.h base/terminal.h base/json.h \
  base/text.h tailorctl/admin_request.h http/client/client.h \
  tailorctl/options.h base/command_line.h

base/instant.h:

base/terminal.h:

base/json.h:

base/text.h:

tailorctl/admin_request.h:

http/client/client.h:

tailorctl/options.h:

base/command_line.h:
