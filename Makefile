# Tailor.  `make help` lists what can be made.  Everything goes to $(BUILD).
#
# Each room (a folder, or a folder in one) becomes an archive and is linked
# only with what it may use: NEEDS_<room> is the dependency rule of this
# project, for the linker here and for #include lines in tools/check-includes.
#
# A sanitizer build is a build directory of its own:
#	make BUILD=/tmp/b SAN=address,undefined unit-base
# and `make check` makes its own (build-clang, build-asan, ...).
# V=1 shows the commands; WERROR=0 lets a compiler of another age warn.

VERSION := 0.1.0
BUILD   ?= build
ifeq ($(origin CC),default)
CC      := gcc
endif
SAN     ?=
PREFIX  ?= /usr/local
DESTDIR ?=
PYTHON  ?= /usr/bin/python3
JAVAC   ?= $(shell command -v javac)
JAVA_HOME ?= $(patsubst %/bin/javac,%,$(realpath $(JAVAC)))

WERROR  ?= 1
ERROR   := $(if $(filter 1,$(WERROR)),-Werror)
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wcast-qual -Wconversion $(ERROR)
CFLAGS  ?= -O2 -g
LDFLAGS ?=
CPPFLAGS ?=
override CFLAGS += $(CPPFLAGS) -std=gnu11 -D_GNU_SOURCE $(WARN) -I. -fno-common \
	   -fno-omit-frame-pointer -fPIC -fno-semantic-interposition \
	   -DTAILOR_VERSION='"$(VERSION)"' -DEMBED_FOLDER='"$(BUILD)"'
PLAIN_CFLAGS := $(CFLAGS)
PLAIN_LDFLAGS := $(LDFLAGS) -Wl,-z,relro,-z,now
ifneq ($(SAN),)
override CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all \
	   -fno-optimize-sibling-calls
override LDFLAGS += -fsanitize=$(SAN)
else
override CFLAGS += -fstack-protector-strong
override LDFLAGS += -Wl,-z,relro,-z,now
endif

# Rooms, lowest first: a room is a folder, or a folder in it, and what it may
# use.  The name of a folder stands for all of its rooms.
ROOMS := base talechain/events talechain/timeline talechain/tale \
	 talechain/claims talechain/words \
	 talechain/symbols talechain/store talechain/render config \
	 profiler/counters profiler/options profiler/processes \
	 profiler/channels profiler/jvm profiler/kernel profiler/runtimes \
	 profiler/rates profiler/observer profiler/attach profiler lanes shim \
	 borrowing borrow hedging http http/client blame blame/report \
	 proxy/net proxy/stats proxy/upstream proxy/client proxy/access_log \
	 proxy/analysis proxy/request proxy/admin daemon \
	 loadgen/send loadgen/stats loadgen/report loadgen tailorctl
NEEDS_base      :=
NEEDS_config    := talechain/events base
NEEDS_talechain/events := base
NEEDS_talechain/timeline := talechain/events base
NEEDS_talechain/tale := talechain/timeline talechain/events base
NEEDS_talechain/claims := talechain/tale talechain/timeline talechain/events \
	base
NEEDS_talechain/words := talechain/claims talechain/tale talechain/timeline \
	talechain/events base
NEEDS_talechain/symbols := talechain/tale talechain/timeline talechain/events \
	base
NEEDS_talechain/store := talechain/tale talechain/timeline \
	talechain/events base
NEEDS_talechain/render := talechain/words talechain/claims talechain/tale \
	talechain/timeline talechain/events base
NEEDS_profiler/counters := base
NEEDS_profiler/options := base
NEEDS_profiler/processes := profiler/options base
NEEDS_profiler/channels := profiler/options talechain/timeline \
			   talechain/events base
NEEDS_profiler/jvm := profiler/channels profiler/processes profiler/options \
		      talechain/timeline talechain/events base
NEEDS_profiler/kernel := profiler/channels profiler/processes profiler/options \
			 talechain/timeline talechain/events base
NEEDS_profiler/runtimes := profiler/jvm profiler/channels profiler/processes \
			   profiler/options talechain/timeline \
			   talechain/events base
NEEDS_profiler/rates := profiler/channels profiler/processes profiler/options \
			profiler/counters talechain/timeline talechain/events \
			base
NEEDS_profiler/observer := profiler/kernel profiler/jvm profiler/channels \
			   profiler/processes profiler/options \
			   profiler/counters talechain/timeline \
			   talechain/events base
NEEDS_profiler/attach := profiler/observer profiler/rates profiler/runtimes \
			 profiler/kernel profiler/jvm profiler/channels \
			 profiler/processes profiler/options profiler/counters \
			 talechain/timeline talechain/events base
NEEDS_profiler  := profiler/attach profiler/observer profiler/rates \
		   profiler/runtimes profiler/kernel profiler/jvm \
		   profiler/channels profiler/processes profiler/options \
		   profiler/counters talechain/timeline talechain/events base
NEEDS_lanes     := base
NEEDS_shim      := lanes profiler talechain/timeline talechain/events base
NEEDS_borrow    := borrowing lanes base
NEEDS_hedging   := talechain/events base
NEEDS_borrowing := base
NEEDS_http      :=
NEEDS_http/client := http base
NEEDS_blame     := base
NEEDS_blame/report := blame talechain/events base
NEEDS_proxy/net        := http base
NEEDS_proxy/stats      := http hedging talechain/events base
NEEDS_proxy/upstream   := proxy/net proxy/stats http hedging profiler \
			  talechain/timeline talechain/events config base
NEEDS_proxy/client     := proxy/net proxy/stats http hedging profiler \
			  talechain/timeline talechain/events config base
NEEDS_proxy/access_log := config base
NEEDS_proxy/analysis   := http blame talechain base
NEEDS_proxy/request    := proxy/analysis proxy/access_log proxy/client \
			  proxy/upstream proxy/stats proxy/net http hedging \
			  blame profiler talechain config base
NEEDS_proxy/admin      := proxy/request proxy/analysis proxy/access_log \
			  proxy/client proxy/upstream proxy/stats proxy/net http \
			  hedging blame profiler talechain config base
NEEDS_daemon    := borrow borrowing shim lanes proxy http hedging blame profiler talechain \
		   config base
NEEDS_loadgen/send   := http base
NEEDS_loadgen/stats  := loadgen/send http base
NEEDS_loadgen/report := loadgen/stats loadgen/send http base
NEEDS_loadgen   := loadgen/report loadgen/stats loadgen/send http base
NEEDS_tailorctl := borrow borrowing lanes profiler http blame talechain/timeline \
		   talechain/events base
LIBS_base       := -lhwloc -lm -lpthread
LIBS_config     := -lcjson
LIBS_talechain/symbols := -lelf -l:libstdc++.so.6
LIBS_talechain/store := -lsqlite3
LIBS_profiler/counters := -lpfm
LIBS_profiler/kernel := -lbpf
LIBS_profiler/runtimes := -lbpf -lelf
LIBS_lanes      := -lbpf
LIBS_http       := -lhttp_parser
LIBS_loadgen    := -lcjson
LIBS_proxy/net  := -levent_core
LIBS_proxy/analysis := -lcjson
LIBS_tailorctl  := -lcjson

# $(call rooms,folder...): their rooms.  $(call below,folder...): these and
# all they use, highest first, which is the order the linker wants.
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) \
	  $(firstword $(1)))
HIGHEST_FIRST := $(call reverse,$(ROOMS))
rooms = $(filter $(1) $(1:%=%/%),$(ROOMS))
needs = $(foreach r,$(call rooms,$(1)),$(NEEDS_$(r)))
below = $(filter $(call rooms,$(1) $(call needs,$(1))),$(HIGHEST_FIRST))
FOLDERS := $(shell printf '%s\n' $(ROOMS) | cut -d / -f 1 | uniq)

say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(patsubst $(CURDIR)/%,%,$@); )

.PHONY: all
all: programs agent java $(BUILD)/timeline.schema.json	## programs, JVM agent, Java classes (default)

# --- objects and archives ---------------------------------------------------
MAINS := daemon/main.c loadgen/tailor-load.c tailorctl/tailorctl.c
AGENT_SOURCES := $(wildcard profiler/jvm/agent*.c)
within = $(filter-out $(1),$(call rooms,$(1)))
sources = $(filter-out %.bpf.c $(MAINS) $(AGENT_SOURCES) \
	  $(foreach r,$(call within,$(1)),$(r)/%),\
	  $(wildcard $(1)/*.c $(1)/*/*.c))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
archive = $(BUILD)/lib$(subst /,-,$(1)).a
archives = $(foreach r,$(call below,$(1)),$(call archive,$(r)))
libraries = $(sort $(foreach r,$(call below,$(1)),$(LIBS_$(r))))

# Written only when compiler or flags change; objects are then made again.
FLAGS := $(BUILD)/flags
ifneq ($(strip $(CC) $(CFLAGS) $(LDFLAGS)),$(strip $(file <$(FLAGS))))
.PHONY: $(FLAGS)
endif
$(FLAGS):
	@$(shell mkdir -p $(@D))$(file >$@,$(CC) $(CFLAGS) $(LDFLAGS))

$(BUILD)/obj/%.o: %.c $(FLAGS)
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

# A page is one file with its style sheets and scripts in it, and is embedded
# (base/embed.h).
PAGES := $(filter-out build%,$(wildcard */page/* */*/page/*))
$(BUILD)/%.html: %.html $(PAGES) tools/inline-page
	@mkdir -p $(@D)
	$(call say,PAGE)tools/inline-page $< >$@.new && mv $@.new $@
$(BUILD)/%.css: %.css
	@mkdir -p $(@D)
	@cp $< $@
$(BUILD)/%.txt: %.txt
	@mkdir -p $(@D)
	@cp $< $@
# The names of this machine's system calls: "202 futex", a line for each.
$(BUILD)/system_calls.txt: $(FLAGS)
	$(call say,NAMES)(echo '#include <sys/syscall.h>'; \
	    echo '#include <sys/syscall.h>' | $(CC) -E -dM - | \
	    sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/@ __NR_\1 \1/p') | \
	    $(CC) -E -P - | sed -n 's/^@ \([0-9]* [a-z0-9_]*\)$$/\1/p' >$@
$(BUILD)/obj/talechain/events/system_call.o: $(BUILD)/system_calls.txt
$(BUILD)/obj/config/write.o: $(BUILD)/config/manual.txt
$(BUILD)/obj/config/keys_lookup.o: $(BUILD)/config/keys.txt
$(BUILD)/obj/proxy/admin/admin.o: $(BUILD)/proxy/admin/page/index.txt
$(BUILD)/obj/proxy/admin/exposition.o: $(BUILD)/proxy/admin/metrics.txt
$(BUILD)/obj/proxy/admin/admin_timeline.o: $(BUILD)/proxy/admin/page/live.html
$(BUILD)/obj/base/plot.o: $(BUILD)/base/page/plot.css \
    $(BUILD)/base/page/report.html
$(BUILD)/obj/talechain/render/html.o: $(BUILD)/talechain/render/page/timeline.html
$(BUILD)/obj/talechain/render/svg.o: $(BUILD)/talechain/render/page/picture.css

# BPF programs: one object for the kernel, which lies inside libprofiler.a.
# Made with clang, plain, in every build; what they know of the kernel's
# structures is fitted when they are loaded.
BPF_CLANG ?= clang
BPFTOOL ?= $(firstword $(shell PATH=$$PATH:/usr/sbin command -v bpftool) \
	   bpftool)
# memory.bpf.c first: bpftool 7.1 wants definitions before their uses.
BPF_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,profiler/kernel/memory.bpf.c \
    $(filter-out %/memory.bpf.c,$(wildcard profiler/kernel/*.bpf.c)))
BPF_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(shell uname -m)))
BPF_CFLAGS := -target bpf -mcpu=v3 -O2 -g -ffreestanding -Wall -Wextra \
	      -Wshadow -Wno-unused-parameter $(ERROR) -I. \
	      -D__TARGET_ARCH_$(BPF_ARCH) \
	      -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)
$(BUILD)/obj/%.bpf.o: %.bpf.c $(FLAGS)
	@mkdir -p $(@D)
	$(call say,BPF)$(BPF_CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/kernel.bpf: $(BPF_OBJECTS)
	$(call say,BPF)$(BPFTOOL) gen object $@ $^
$(BUILD)/obj/profiler/kernel/programs.o: $(BUILD)/kernel.bpf
# And two small ones: for the microscope, and for the probes of runtimes.
$(BUILD)/lanes.bpf: $(BUILD)/obj/lanes/lanes.bpf.o
$(BUILD)/runtimes.bpf: $(BUILD)/obj/profiler/runtimes/runtimes.bpf.o
$(BUILD)/lanes.bpf $(BUILD)/runtimes.bpf:
	$(call say,BPF)$(BPFTOOL) gen object $@ $^
$(BUILD)/obj/profiler/runtimes/probes.o: $(BUILD)/runtimes.bpf
$(BUILD)/obj/lanes/lanes.o: $(BUILD)/lanes.bpf

# A room's whole archive must link with nothing but what the room may use.
define room
$(call archive,$(1)): $(call objects,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR)ar rcsD $$@ $$^
$(BUILD)/rooms/$(subst /,-,$(1)): $(call archives,$(1))
	@mkdir -p $$(@D)
	$$(call say,LD)$$(CC) $$(LDFLAGS) -shared -Wl,-z,defs -o $$@ \
	    -Wl,--whole-archive $$< -Wl,--no-whole-archive \
	    $$(wordlist 2,$$(words $$^),$$^) $(call libraries,$(1))
rooms: $(BUILD)/rooms/$(subst /,-,$(1))
endef
.PHONY: rooms
rooms:	## link each room with nothing but what it may use
$(foreach r,$(ROOMS),$(eval $(call room,$(r))))

# --- programs, agent, Java ---------------------------------------------------
.PHONY: programs agent java
programs: $(BUILD)/tailor $(BUILD)/tailorctl $(BUILD)/tailor-load
define program
$(BUILD)/$(1): $(BUILD)/obj/$(3)/$(2).o $(call archives,$(3))
	$$(call say,LD)$$(CC) $$(LDFLAGS) -o $$@ $$^ $(call libraries,$(3))
endef
$(eval $(call program,tailor,main,daemon))
$(eval $(call program,tailorctl,tailorctl,tailorctl))
$(eval $(call program,tailor-load,tailor-load,loadgen))

# The agent lives inside a JVM, where a sanitizer's runtime cannot be loaded
# late: it is built plain in every build.
agent: $(if $(JAVAC),$(BUILD)/libtailor-jvm.so,no-jdk)
$(BUILD)/libtailor-jvm.so: $(AGENT_SOURCES) talechain/talechain.h $(FLAGS)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(PLAIN_CFLAGS) $(PLAIN_LDFLAGS) -shared \
	    -isystem $(JAVA_HOME)/include -isystem $(JAVA_HOME)/include/linux \
	    -MMD -MP -MF $@.d -o $@ $(AGENT_SOURCES) -lpthread

JAVA_SOURCES := $(wildcard talechain/*.java talechain/*/*.java)
java: $(if $(JAVAC),$(if $(JAVA_SOURCES),$(BUILD)/java/.made),no-jdk)
$(BUILD)/java/.made: $(JAVA_SOURCES)
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$(call say,JAVAC)$(JAVAC) -Xlint:all $(ERROR) --release 17 -d $(@D) $(JAVA_SOURCES)
	@touch $@

.PHONY: no-jdk
no-jdk:
	@echo 'No javac: the JVM agent and the Java classes are not built.'

# --- unit tests: tests/unit/<folder>/test_*.c, long_*.c ------------------------
# long_*.c depend on the machine's speed, or take long: `make check` leaves
# them to `make check-all`.  Other .c files of such a folder are support code,
# linked with each test, as is main() (unit.c).
.PHONY: unit unit-long unit-programs unit-long-programs $(FOLDERS:%=unit-%)
unit: $(if $(SAN),,rooms) $(FOLDERS:%=unit-%)	## unit tests; unit-<folder> for one folder's
define unit_folder
TESTS_$(1) := $$(patsubst tests/unit/$(1)/%.c,$(BUILD)/unit/$(1)/%,\
    $$(wildcard tests/unit/$(1)/test_*.c))
LONG_$(1) := $$(patsubst tests/unit/$(1)/%.c,$(BUILD)/unit/$(1)/%,\
    $$(wildcard tests/unit/$(1)/long_*.c))
SUPPORT_$(1) := $$(patsubst %.c,$(BUILD)/obj/%.o,\
    $$(filter-out tests/unit/$(1)/test_% tests/unit/$(1)/long_%,\
    $$(wildcard tests/unit/$(1)/*.c)))
$(BUILD)/unit/$(1)/%: $(BUILD)/obj/tests/unit/$(1)/%.o \
    $(BUILD)/obj/tests/unit/unit.o $$(SUPPORT_$(1)) $(call archives,$(1))
	@mkdir -p $$(@D)
	$$(call say,LD)$$(CC) $$(LDFLAGS) -o $$@ $$^ $(call libraries,$(1)) -lcmocka -lcjson
unit-$(1): $$(TESTS_$(1))
	@set -e; for t in $$^; do echo "== $$$$t"; $$$$t; done
unit-programs: $$(TESTS_$(1))
unit-long-programs: $$(LONG_$(1))
endef
$(foreach f,$(FOLDERS),$(eval $(call unit_folder,$(f))))
unit-profiler unit-programs unit-long-programs: | agent	# tests load it into a JVM
unit-long: unit-long-programs	## unit tests that depend on time
	@set -e; for t in $(foreach f,$(FOLDERS),$(LONG_$(f))); do \
	    echo "== $$t"; $$t; done

# End-to-end tests, hazards, foreign services, chaos, faults, fuzzing, bench,
# the demonstration and the experiments.
include tests/suites.mk

# --- everything at once --------------------------------------------------------
.PHONY: deps check check-all lint compile_commands.json
deps:	## install the Debian packages that check and demo need
	@tools/install-deps build check demo

check:	## what a change must pass: 5 to 8 minutes on two CPUs
	@tools/install-deps build check demo
	@tools/check --build $(BUILD)

check-all:	## check and the long tests; goes on where it was stopped
	@tools/install-deps build check demo experiment foreign check-all
	@tools/check --all --build $(BUILD)

COMPILE_COMMAND := {"directory": "$(CURDIR)", "file": "\1", "command": "&"}
compile_commands.json:	## how each file is compiled, for editors
	@$(MAKE) -nB V=1 programs unit-programs | sed -n -e 's/[\\"]/\\&/g' \
	    -e 's|.* -c -o [^ ]* \([^ ]*\.c\)$$|$(COMPILE_COMMAND)|p' | \
	    sed -e '1s/^/[/' -e '$$!s/$$/,/' -e '$$s/$$/]/' >$@

lint:	## format, static analysis, dependency rule, docstrings
	@tools/lint

# --- documentation, installation --------------------------------------------------
MANUALS := $(patsubst docs/%.scd,$(BUILD)/man/%,$(wildcard docs/*.scd)) \
	   $(BUILD)/man/tailor.conf.5
.PHONY: docs install uninstall clean help
docs: $(MANUALS)	## manual pages, into $(BUILD)/man
$(BUILD)/man/%: docs/%.scd
	@mkdir -p $(@D)
	$(call say,MAN)SOURCE_DATE_EPOCH=0 scdoc <$< >$@

# The table of keys is in the program: its page is printed by it.
$(BUILD)/man/tailor.conf.5: $(BUILD)/tailor
	@mkdir -p $(@D)
	$(call say,MAN)$< --manual | SOURCE_DATE_EPOCH=0 scdoc >$@

# What each cause is, from its row: "gc: a stop-the-world collection".
$(BUILD)/causes.txt: talechain/events/cause.h $(FLAGS)
	$(call say,NAMES)(echo '#include "$<"'; echo 'TALE_CAUSES(ROW)') | \
	    $(CC) -I. -E -P \
	    -D'ROW(s, code, l, k, b, m, n, y, meaning, ...)=@ code meaning' - | \
	    sed -n 's/@ /\n/gp' | awk -F '"' 'NF > 4 { m = ""; \
	    for (i = 4; i < NF; i += 2) m = m $$i; print $$2 ": " m }' >$@
$(BUILD)/timeline.schema.json: docs/timeline.schema.json $(BUILD)/causes.txt
	$(call say,JSON)sed "s/@causes@/$$(cut -d : -f 1 $(BUILD)/causes.txt | \
	    paste -s -d '~' | sed 's/~/", "/g')/" $< >$@
$(BUILD)/man/tailor-timeline.5: docs/tailor-timeline.5.scd $(BUILD)/causes.txt
	@mkdir -p $(@D)
	$(call say,MAN)sed -e 's/_/\\_/g' -e 's/^\([^:]*\):/- *\1*:/' \
	    $(BUILD)/causes.txt | sed -e '/^@causes@$$/{r /dev/stdin' -e 'd}' $< | \
	    SOURCE_DATE_EPOCH=0 scdoc >$@

# What --help says of the options, and GET / of requests, is not said twice.
$(BUILD)/man/tailor.8: proxy/admin/page/index.txt
HELPED := tailor.8 tailorctl.1 tailor-load.1 tailor-shim.1 tailor-borrow.1
$(BUILD)/man/tailor-shim.1: HELP := tailor shim
$(BUILD)/man/tailor-borrow.1: HELP := tailor borrow
$(HELPED:%=$(BUILD)/man/%): $(BUILD)/man/%: docs/%.scd tools/help-options \
    $(BUILD)/tailor $(BUILD)/tailorctl $(BUILD)/tailor-load
	@mkdir -p $(@D)
	$(call say,MAN)$(BUILD)/$(or $(HELP),$(basename $(@F))) --help | \
	    tools/help-options | sed -e '/^@options@$$/{r /dev/stdin' -e 'd}' \
	    -e '/^@requests@$$/{r proxy/admin/page/index.txt' -e 'd}' $< | \
	    SOURCE_DATE_EPOCH=0 scdoc >$@

# And the table of events in the tool that reads them.
$(BUILD)/man/tailor-ring.7: docs/tailor-ring.7.scd $(BUILD)/tailorctl
	@mkdir -p $(@D)
	$(call say,MAN){ cat $<; echo '```'; $(BUILD)/tailorctl log --list; \
	    echo '```'; } | SOURCE_DATE_EPOCH=0 scdoc >$@

install: all docs	## install under $(DESTDIR)$(PREFIX)
	DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' BUILD='$(BUILD)' \
	    tools/install-files

uninstall:	## remove what install has put there; a changed configuration stays
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' BUILD='$(BUILD)' \
	    tools/install-files remove

clean:	## remove everything that was built
	rm -rf build build-* compile_commands.json

help:	## this list
	@awk -F ':.*## ' '/^[a-z].*:.*## / { sub(/:.*/, "", $$1); \
	    printf "make %-21s %s\n", $$1, $$2 }' Makefile tests/suites.mk | sort

.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell [ -d $(BUILD) ] && find $(BUILD) -name '*.d')
