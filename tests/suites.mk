# Suites beside the unit tests, benchmarks, the demonstration, the experiments:
# a part of the Makefile.

# --- end-to-end tests ---------------------------------------------------------
# As in `make check`: side by side, without those that are marked long.
# PYTEST_ARGS="-k hedge -x" and the like are passed on: -m long, -m "", -n 0.
# tests/e2e/*.c are small helper programs of theirs.
E2E_PROGRAMS := $(patsubst tests/e2e/%.c,$(BUILD)/e2e/%,\
    $(wildcard tests/e2e/*.c))
$(BUILD)/e2e/%: $(BUILD)/obj/tests/e2e/%.o $(call archives,talechain)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(call libraries,talechain) -lcmocka -lcjson

# Its stories are those of the unit tests.
SAMPLES := $(patsubst %,$(BUILD)/obj/tests/unit/talechain/%.o,\
    samples scenario scene)
$(BUILD)/e2e/talechain_pages: $(SAMPLES)

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
# HAZARDS_ARGS="--times 5 'c/*'" and the like are passed on.
HAZARDS := $(BUILD)/hazards
GO := $(shell command -v go)
.PHONY: hazards hazards-programs
hazards-programs: $(HAZARDS)/server $(HAZARDS)/disturb \
    $(HAZARDS)/noquickack.so $(if $(JAVAC),$(HAZARDS)/classes/.made) \
    $(if $(GO),$(HAZARDS)/service-go)
hazards: all hazards-programs	## inject hazards, compare them with the verdicts
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/hazards/hazards.py \
	    --build $(abspath $(BUILD)) $(HAZARDS_ARGS)
$(HAZARDS)/server: $(patsubst %,$(BUILD)/obj/tests/hazards/%.o,\
    server injections http)
$(HAZARDS)/disturb: $(BUILD)/obj/tests/hazards/disturb.o
$(HAZARDS)/server $(HAZARDS)/disturb:
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $^ -lpthread
$(HAZARDS)/noquickack.so: $(BUILD)/obj/tests/hazards/noquickack.o
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -shared -o $@ $^

# Services that others wrote: FOREIGN_ARGS="--times 5 python/gil" and the like are
# passed on.  What cannot be built here, as the jars or Go are missing, is
# skipped by the suite.
SERVICES := tests/hazards/services
JARS := /usr/share/java
JETTY_JARS := $(addprefix $(JARS)/,jetty9-server.jar jetty9-util.jar \
    jetty9-http.jar jetty9-io.jar servlet-api.jar)
TOMCAT_JARS := $(addprefix $(JARS)/,tomcat10-embed-core.jar \
    tomcat10-annotations-api.jar)
# The service of a server whose jars are all here, or nothing.
with-jars = $(if $(filter-out $(wildcard $(2)),$(2)),,$(SERVICES)/$(1))
empty :=
space := $(empty) $(empty)
.PHONY: foreign
foreign: all hazards-programs	## inject them into services that others wrote
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/hazards/hazards.py \
	    --build $(abspath $(BUILD)) --foreign --calm 1000 $(FOREIGN_ARGS)
$(HAZARDS)/classes/.made: $(SERVICES)/Kinds.java $(SERVICES)/JdkService.java \
    $(call with-jars,JettyService.java,$(JETTY_JARS)) \
    $(call with-jars,TomcatService.java,$(TOMCAT_JARS))
	@mkdir -p $(@D)
	$(call say,JAVAC)$(JAVAC) -Xlint:all $(ERROR) --release 17 -d $(@D) \
	    -cp "$(subst $(space),:,$(wildcard $(JETTY_JARS) $(TOMCAT_JARS)))" $^
	@touch $@
$(HAZARDS)/service-go: $(SERVICES)/service.go
	@mkdir -p $(@D)
	$(call say,GO)GO111MODULE=off GOCACHE=$(abspath $(HAZARDS))/cache \
	    $(GO) build -o $@ $<

# --- chaos: tests/chaos, tests/pauses ---------------------------------------------
# MINUTES=30 SEED=n; more with CHAOS_ARGS.  SAN= for a build with sanitizers.
# PAUSES=1: beside nginx and HAProxy, request by request.
MINUTES ?= 1
CHAOS_TIME = --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))
.PHONY: chaos
chaos: programs	## servers fail in every way, clients check each response
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) \
	    $(if $(PAUSES),tests/pauses/pauses.py $(CHAOS_TIME),\
	    tests/chaos/chaos.py $(CHAOS_TIME) $(if $(SAN),--no-memory)) \
	    --build $(abspath $(BUILD)) $(CHAOS_ARGS)

# --- a soak: tests/soak -------------------------------------------------------------
# An hour before Tomcat, nginx, Node and the JDK's server; SOAK_ARGS="--minutes 5".
.PHONY: soak
soak: programs agent hazards-programs	## an hour before real servers: no byte wrong, nothing grows
	PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/soak/soak.py \
	    --build $(abspath $(BUILD)) $(SOAK_ARGS)

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
$(FAULTS)/sweep: $(BUILD)/obj/tests/faults/sweep.o $(SAMPLES)
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
	    --build $(BUILD)-fuzz --seconds $(SECONDS) $(FUZZ_ARGS)
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

# --- bench: tests/bench/bench_* print figures and judge nothing ---------------
BENCH_ONLY = $(or $(ONLY),*)
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,\
    $(wildcard tests/bench/bench_$(BENCH_ONLY).c))
BENCH_SERVANTS := $(BUILD)/bench/fast_origin
.PHONY: bench
bench: programs hazards-programs $(BENCHES) $(BENCH_SERVANTS)	## measure; prints figures, judges nothing; ONLY=proxy
	@set -e; for b in $(BENCHES); do echo "== $$b"; $$b; done
	@set -e; for b in $(wildcard tests/bench/bench_$(BENCH_ONLY).py); do \
	    echo "== $$b"; TAILOR_BUILD=$(abspath $(BUILD)) $(PYTHON) $$b; done
# Its accounts are those of the unit tests.
$(BUILD)/bench/bench_blame: $(BUILD)/obj/tests/unit/blame/populations.o \
    $(call archives,blame)
# Its cores are those of the unit tests.
$(BUILD)/bench/bench_borrowing: $(BUILD)/obj/tests/unit/borrowing/core.o \
    $(call archives,borrowing)
# Its JVMs are those of the unit tests.
$(BUILD)/bench/bench_steer: $(BUILD)/obj/tests/unit/hedging/heaps.o
# tailor shim's, in a folder of its own.
SHIM_BENCH := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard tests/bench/shim/*.c))
$(BUILD)/bench/bench_shim: $(SHIM_BENCH)
.PHONY: populations
populations: $(BUILD)/bench/bench_blame	## whether intervals of blame hold the truth: minutes
	$< 200
$(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(call archives,daemon)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) \
	    $(call libraries,daemon)

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
