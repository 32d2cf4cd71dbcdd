# Tailor.  `make help` lists what can be made.  Everything goes to $(BUILD).
#
# Each room (a folder, or a folder in one) becomes an archive and is linked
# only with what it may use: NEEDS_<room> is the dependency rule of this
# project, for the linker here and for #include lines in tools/check-includes.
#
# A sanitizer build is a build directory of its own:
#	make BUILD=/tmp/b SAN=address,undefined unit-base
# and `make check` makes its own (build-clang, build-asan, ...).
# V=1 shows the commands.

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

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wcast-qual -Wconversion -Werror
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
ROOMS := base talechain/events talechain/timeline talechain/explain \
	 talechain/symbols talechain/store talechain/render config profiler \
	 hedging http blame blame/report \
	 proxy/net proxy/stats proxy/upstream proxy/client proxy/access_log \
	 proxy/analysis proxy/request proxy/admin daemon \
	 loadgen/send loadgen/stats loadgen/report loadgen tailorctl
NEEDS_base      :=
NEEDS_config    := talechain/events base
NEEDS_talechain/events := base
NEEDS_talechain/timeline := talechain/events base
NEEDS_talechain/explain := talechain/timeline talechain/events base
NEEDS_talechain/symbols := talechain/explain talechain/timeline \
	talechain/events base
NEEDS_talechain/store := talechain/explain talechain/timeline \
	talechain/events base
NEEDS_talechain/render := talechain/explain talechain/timeline \
	talechain/events base
NEEDS_profiler  := talechain/timeline talechain/events base
NEEDS_hedging   := talechain/events base
NEEDS_http      :=
NEEDS_blame     := base
NEEDS_blame/report := blame talechain/explain talechain/timeline \
		      talechain/events base
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
NEEDS_daemon    := proxy http hedging blame profiler talechain config base
NEEDS_loadgen/send   := base
NEEDS_loadgen/stats  := loadgen/send base
NEEDS_loadgen/report := loadgen/stats loadgen/send base
NEEDS_loadgen   := loadgen/report loadgen/stats loadgen/send base
NEEDS_tailorctl := profiler blame talechain/explain talechain/timeline talechain/events base
LIBS_base       := -lhwloc -lm -lpthread
LIBS_config     := -lcjson
LIBS_talechain/symbols := -lelf
LIBS_talechain/store := -lsqlite3
LIBS_profiler   := -lpfm -lbpf
LIBS_http       := -lhttp_parser
LIBS_loadgen/send := -lmd
LIBS_loadgen/stats := -lcjson
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
all: programs agent java	## programs, JVM agent, Java classes (default)

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
PAGES := $(wildcard */*/page/*)
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
	      -Wshadow -Wno-unused-parameter -Werror -I. \
	      -D__TARGET_ARCH_$(BPF_ARCH) \
	      -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)
$(BUILD)/obj/%.bpf.o: %.bpf.c $(FLAGS)
	@mkdir -p $(@D)
	$(call say,BPF)$(BPF_CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/kernel.bpf: $(BPF_OBJECTS)
	$(call say,BPF)$(BPFTOOL) gen object $@ $^
$(BUILD)/obj/profiler/kernel/programs.o: $(BUILD)/kernel.bpf
# And two small ones: for the microscope, and for the probes of runtimes.
$(BUILD)/task_map.bpf: $(BUILD)/obj/profiler/shim/task_map.bpf.o
$(BUILD)/runtimes.bpf: $(BUILD)/obj/profiler/runtimes/runtimes.bpf.o
$(BUILD)/task_map.bpf $(BUILD)/runtimes.bpf:
	$(call say,BPF)$(BPFTOOL) gen object $@ $^
$(BUILD)/obj/profiler/runtimes/probes.o: $(BUILD)/runtimes.bpf
$(BUILD)/obj/profiler/shim/task_map.o: $(BUILD)/task_map.bpf

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
	$(call say,JAVAC)$(JAVAC) -Xlint:all -Werror --release 17 -d $(@D) $(JAVA_SOURCES)
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
	$$(call say,LD)$$(CC) $$(LDFLAGS) -o $$@ $$^ $(call libraries,$(1)) -lcmocka
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

# --- end-to-end tests ---------------------------------------------------------
# As in `make check`: side by side, without those that are marked long.
# PYTEST_ARGS="-k hedge -x" and the like are passed on: -m long, -m "", -n 0.
# tests/e2e/*.c are small helper programs of theirs.
E2E_PROGRAMS := $(patsubst tests/e2e/%.c,$(BUILD)/e2e/%,\
    $(wildcard tests/e2e/*.c))
$(BUILD)/e2e/%: $(BUILD)/obj/tests/e2e/%.o $(call archives,talechain)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(call libraries,talechain)

# Its stories are those of the unit tests.
$(BUILD)/e2e/talechain_pages: $(BUILD)/obj/tests/unit/talechain/samples.o

.PHONY: e2e e2e-programs
e2e-programs: $(E2E_PROGRAMS)
e2e: all e2e-programs lucene lucene-index	## end-to-end tests (pytest) against $(BUILD)
	TAILOR_BUILD=$(abspath $(BUILD)) PYTHONDONTWRITEBYTECODE=1 \
	    $(PYTHON) -m pytest -p no:cacheprovider -q -rs -n 6 -m "not long" \
	    tests/e2e $(PYTEST_ARGS)

.PHONY: steering
steering: all agent	## steering under traffic that it cannot foresee; PIECE=20
	TAILOR_STEER_SECONDS=$(or $(PIECE),20) $(MAKE) e2e \
	    PYTEST_ARGS="-n 0 -m '' -k steering $(PYTEST_ARGS)"

# --- injected hazards: tests/hazards -------------------------------------------
# HAZARDS_ARGS="--times 5 fifo" and the like are passed on.
HAZARDS := $(BUILD)/hazards
.PHONY: hazards hazards-programs
hazards-programs: $(HAZARDS)/server $(HAZARDS)/disturb \
    $(HAZARDS)/noquickack.so $(if $(JAVAC),$(HAZARDS)/classes/.made)
hazards: all hazards-programs	## inject hazards, compare them with the verdicts
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/hazards/hazards.py \
	    --build $(abspath $(BUILD)) --json $(HAZARDS)/matrix.json \
	    --html $(HAZARDS)/matrix.html $(HAZARDS_ARGS)
$(HAZARDS)/server: $(patsubst %,$(BUILD)/obj/tests/hazards/%.o,\
    server injections http)
$(HAZARDS)/disturb: $(BUILD)/obj/tests/hazards/disturb.o
$(HAZARDS)/server $(HAZARDS)/disturb:
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ -lpthread
$(HAZARDS)/noquickack.so: $(BUILD)/obj/tests/hazards/noquickack.o
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -shared -o $@ $^
$(HAZARDS)/classes/.made: tests/hazards/HazardServer.java
	@mkdir -p $(@D)
	$(call say,JAVAC)$(JAVAC) -Xlint:all -Werror --release 17 -d $(@D) $<
	@touch $@

# --- foreign services: tests/foreign ----------------------------------------------
# FOREIGN_ARGS="--times 5 python/gil" and the like are passed on.  What cannot
# be built here, as the jars or Go are missing, is skipped by the suite.
FOREIGN := $(BUILD)/foreign
FOREIGN_SOURCE := tests/foreign/services
JARS := /usr/share/java
JETTY_JARS := $(addprefix $(JARS)/,jetty9-server.jar jetty9-util.jar \
    jetty9-http.jar jetty9-io.jar servlet-api.jar)
TOMCAT_JARS := $(addprefix $(JARS)/,tomcat10-embed-core.jar \
    tomcat10-annotations-api.jar)
# The service of a server whose jars are all here, or nothing.
foreign-java = $(if $(filter-out $(wildcard $(2)),$(2)),,$(FOREIGN_SOURCE)/$(1))
FOREIGN_JAVA := $(if $(JAVAC),\
    $(call foreign-java,JettyService.java,$(JETTY_JARS)) \
    $(call foreign-java,TomcatService.java,$(TOMCAT_JARS)))
GO := $(shell command -v go)
empty :=
space := $(empty) $(empty)
.PHONY: foreign foreign-programs
foreign-programs: $(if $(strip $(FOREIGN_JAVA)),$(FOREIGN)/classes/.made) \
    $(if $(GO),$(FOREIGN)/service-go)
foreign: all hazards-programs foreign-programs	## the same, into services that others wrote
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/foreign/foreign.py \
	    --build $(abspath $(BUILD)) --json $(FOREIGN)/table.json \
	    $(FOREIGN_ARGS)
$(FOREIGN)/classes/.made: $(FOREIGN_JAVA) $(FOREIGN_SOURCE)/Kinds.java
	@mkdir -p $(@D)
	$(call say,JAVAC)$(JAVAC) -Xlint:all -Werror --release 17 -d $(@D) \
	    -cp $(subst $(space),:,$(wildcard $(JETTY_JARS) $(TOMCAT_JARS))) $^
	@touch $@
$(FOREIGN)/service-go: $(FOREIGN_SOURCE)/service.go
	@mkdir -p $(@D)
	$(call say,GO)GO111MODULE=off GOCACHE=$(abspath $(FOREIGN))/cache \
	    $(GO) build -o $@ $<

# --- predictions of blame: tests/blame --------------------------------------------
# ROUNDS=5 more, of two minutes each; the file keeps all until it is deleted.
ROUNDS ?= 5
BLAME := $(BUILD)/blame
BLAME_ARGS = --build $(abspath $(BUILD)) --rounds $(ROUNDS)
.PHONY: predictions rankings predictions-programs
predictions-programs: all lucene lucene-index $(BLAME)/.made
predictions: predictions-programs	## p99 without a hazard: predicted, then measured
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/blame/predict.py \
	    $(BLAME_ARGS) --json $(BLAME)/predictions.json
rankings: predictions-programs	## causes ranked beside what was injected
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/blame/rank.py \
	    $(BLAME_ARGS) --json $(BLAME)/rankings.json
$(BLAME)/.made: tests/blame/HazardousSearch.java | lucene
	@mkdir -p $(@D)
	$(LUCENE_JAVAC:$(LUCENE_CLASSES)=$(BLAME)) -cp $(LUCENE_PATH) $<
	@touch $@

# --- chaos: tests/chaos, tests/pauses ---------------------------------------------
# MINUTES=30 SEED=n; more with CHAOS_ARGS.  SAN= for a build with sanitizers.
# PAUSES=1: beside nginx and HAProxy, request by request.  SWAPS=1: bursts at
# swaps.
MINUTES ?= 1
CHAOS_TIME = --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))
.PHONY: chaos
chaos: programs	## servers fail in every way, clients check each response
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) \
	    $(if $(SWAPS),tests/pauses/swaps.py,$(if $(PAUSES),\
	    tests/pauses/pauses.py $(CHAOS_TIME),\
	    tests/chaos/chaos.py $(CHAOS_TIME) $(if $(SAN),--no-memory))) \
	    --build $(abspath $(BUILD)) $(CHAOS_ARGS)

# --- injected faults: tests/faults ---------------------------------------------
# The programs once more, of the same objects, with a layer between them and
# the C library that makes calls fail (layer.h); libevent and SQLite are linked
# statically so that their calls go through it too.  For sanitizer builds.
FAULTS := $(BUILD)/faults
FAULT_CALLS := $(shell sed -n -e 's/^FAULT_CALL.\([a-z0-9_]*\),.*/\1/p' \
    -e 's/^__wrap_\([a-z0-9_]*\).*/\1/p' tests/faults/layer.c)
FAULT_LDFLAGS := $(FAULT_CALLS:%=-Wl,--wrap=%)
FAULT_LAYER := $(BUILD)/obj/tests/faults/layer.o
fault_libraries = $(subst -lsqlite3,-l:libsqlite3.a,$(subst \
    -levent_core,-l:libevent.a,$(call libraries,$(1))))
.PHONY: faults faults-programs
faults-programs: $(FAULTS)/tailor $(FAULTS)/sweep
faults:	## make calls fail, one by one, and look that nothing else does
	@tools/check --build $(BUILD) --faults-seconds 0 faults
$(FAULTS)/tailor: $(BUILD)/obj/daemon/main.o
$(FAULTS)/sweep: $(patsubst %,$(BUILD)/obj/tests/%.o,faults/sweep \
    unit/talechain/samples unit/talechain/scene)
$(FAULTS)/tailor $(FAULTS)/sweep: $(FAULT_LAYER) $(call archives,daemon)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) $(FAULT_LDFLAGS) -o $@ \
	    $(filter %.o,$^) $(filter %.a,$^) $(call fault_libraries,daemon) \
	    $(if $(filter %/sweep,$@),-lcmocka)

# --- fuzzing: tests/fuzz/<folder>/fuzz_*.c -------------------------------------
# Seeds: tests/fuzz/<folder>/corpus/fuzz_*/.  Needs clang; own build directory.
# In a build without libFuzzer a target only tries the inputs it is given.
# FUZZ_ARGS="--uncovered fuzz_config" and the like are passed on.
SECONDS ?= 10
.PHONY: fuzz fuzz-programs
fuzz:	## fuzz each parser for SECONDS (10) with clang
	@$(MAKE) --no-print-directory BUILD=$(BUILD)-fuzz CC=clang \
	    SAN=fuzzer-no-link,address,undefined fuzz-programs
	@PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/fuzz/fuzz.py \
	    --build $(BUILD)-fuzz --seconds $(SECONDS) \
	    --json $(BUILD)-fuzz/fuzz.json $(FUZZ_ARGS)
ifneq ($(findstring fuzzer,$(SAN)),)
FUZZ_MAIN :=
FUZZ_LD = clang -fsanitize=fuzzer,address,undefined
else
FUZZ_MAIN := $(BUILD)/obj/tests/fuzz/replay.o
FUZZ_LD = $(CC) $(LDFLAGS)
endif
define fuzz_folder
FUZZERS_$(1) := $$(patsubst tests/fuzz/$(1)/%.c,$(BUILD)/fuzz/$(1)/%,\
    $$(wildcard tests/fuzz/$(1)/fuzz_*.c))
$(BUILD)/fuzz/$(1)/%: $(BUILD)/obj/tests/fuzz/$(1)/%.o $(FUZZ_MAIN) \
    $(call archives,$(1))
	@mkdir -p $$(@D)
	$$(call say,LD)$$(FUZZ_LD) -o $$@ $$^ $(call libraries,$(1))
fuzz-programs: $$(FUZZERS_$(1))
endef
$(foreach f,$(FOLDERS),$(eval $(call fuzz_folder,$(f))))

# --- everything at once --------------------------------------------------------
.PHONY: deps check check-all lint
deps:	## install the Debian packages that check and demo need
	@tools/install-deps build check demo

check:	## the tests that a change must pass: six minutes on two CPUs
	@tools/install-deps build check demo
	@tools/check --build $(BUILD)

check-all:	## and the long ones; goes on where it was stopped
	@tools/install-deps build check demo experiment foreign check-all
	@tools/check --all --build $(BUILD)

lint:	## format, static analysis, dependency rule, docstrings
	@tools/lint

# --- bench: tests/bench/bench_* print figures and judge nothing ---------------
BENCH_ONLY = $(or $(ONLY),*)
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,\
    $(wildcard tests/bench/bench_$(BENCH_ONLY).c))
BENCH_SERVANTS := $(addprefix $(BUILD)/bench/,shim_workload fast_origin)
.PHONY: bench
bench: programs hazards-programs $(BENCHES) $(BENCH_SERVANTS)	## measure; prints figures, judges nothing; ONLY=sampling
	@set -e; for b in $(BENCHES); do echo "== $$b"; $$b; done
	@set -e; for b in $(wildcard tests/bench/bench_$(BENCH_ONLY).py); do \
	    echo "== $$b"; TAILOR_BUILD=$(abspath $(BUILD)) $(PYTHON) $$b; done
# Its accounts are those of the unit tests.
$(BUILD)/bench/bench_blame: $(BUILD)/obj/tests/unit/blame/populations.o \
    $(call archives,blame)
.PHONY: populations
populations: $(BUILD)/bench/bench_blame	## whether intervals of blame hold the truth: minutes
	$< 200
$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(call archives,daemon)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ $(call libraries,daemon)

# --- the demonstration ----------------------------------------------------------
-include examples/lucene/lucene.mk

DEMO_NEEDS := $(if $(filter node,$(RUNTIME)),all,all agent lucene lucene-index)
.PHONY: demo
demo:	## two servers under load, with and without Tailor; KEEP=1 RUNTIME=node
	@UPGRADE=no tools/install-deps build \
	    $(if $(filter node,$(RUNTIME)),node,demo)
	@mkdir -p $(BUILD)
	@$(MAKE) --no-print-directory -q programs 2>/dev/null || \
	    echo "Building, a minute or two (log: $(BUILD)/demo-build.log)"
	@$(MAKE) --no-print-directory -j$$(nproc) $(DEMO_NEEDS) \
	    >$(BUILD)/demo-build.log 2>&1 || { tail -n 20 $(BUILD)/demo-build.log >&2; exit 1; }
	@BUILD=$(abspath $(BUILD)) $(PYTHON) examples/demo/demo.py

# --- the experiments ----------------------------------------------------------
.PHONY: experiment
experiment:	## the thesis's evaluation and more; SIZE=short|medium|full
	@tools/install-deps build demo experiment
	@$(MAKE) --no-print-directory all lucene lucene-index
	BUILD=$(abspath $(BUILD)) SHORT=$(SHORT) SIZE=$(SIZE) ONLY=$(ONLY) \
	    OUT=$(OUT) \
	    $(PYTHON) examples/experiments/experiment.py

# --- documentation, installation --------------------------------------------------
MANUALS := $(patsubst docs/%.scd,$(BUILD)/man/%,$(wildcard docs/*.scd)) \
	   $(BUILD)/man/tailor.conf.5
.PHONY: docs install clean help
docs: $(MANUALS)	## manual pages, into $(BUILD)/man
$(BUILD)/man/%: docs/%.scd
	@mkdir -p $(@D)
	$(call say,MAN)SOURCE_DATE_EPOCH=0 scdoc <$< >$@

# The table of keys is in the program: its page is printed by it.
$(BUILD)/man/tailor.conf.5: $(BUILD)/tailor
	@mkdir -p $(@D)
	$(call say,MAN)$< --manual | SOURCE_DATE_EPOCH=0 scdoc >$@

# And the table of events in the tool that reads them.
$(BUILD)/man/tailor-ring.7: docs/tailor-ring.7.scd $(BUILD)/tailorctl
	@mkdir -p $(@D)
	$(call say,MAN){ cat $<; echo '```'; $(BUILD)/tailorctl events; \
	    echo '```'; } | SOURCE_DATE_EPOCH=0 scdoc >$@

install: all docs	## install under $(DESTDIR)$(PREFIX)
	DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' BUILD='$(BUILD)' \
	    tools/install-files

clean:	## remove everything that was built
	rm -rf build build-*

help:	## this list
	@awk -F ':.*## ' '/^[a-z].*:.*## / { sub(/:.*/, "", $$1); \
	    printf "make %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell [ -d $(BUILD) ] && find $(BUILD) -name '*.d')
