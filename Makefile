# Tailor.  `make help` lists what can be made.  Everything goes to build/.

BUILD   ?= build
CC      ?= gcc
SAN     ?=
JAVA_HOME ?= $(shell dirname $$(dirname $$(readlink -f $$(command -v javac || echo /usr/lib/jvm/default-java/bin/javac))))

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wcast-qual -Wconversion -Werror
CFLAGS  ?= -O2 -g
LDFLAGS ?=
override CFLAGS += -std=gnu11 -D_GNU_SOURCE $(WARN) -I. -fno-common \
	   -fno-omit-frame-pointer -fPIC -MMD -MP
ifneq ($(SAN),)
override CFLAGS += -fsanitize=$(SAN) -fno-sanitize-recover=all
override LDFLAGS += -fsanitize=$(SAN)
endif

# Folders, lowest first; each may use only those named after it here.
FOLDERS := base config talechain profiler hedging proxy
NEEDS_base      :=
NEEDS_config    := base
NEEDS_talechain := base
NEEDS_profiler  := talechain base
NEEDS_hedging   := talechain base
NEEDS_proxy     := hedging profiler talechain config base
NEEDS_loadgen   := base
NEEDS_tailorctl := talechain base
LIBS_base       := -lhwloc -lm -lpthread
LIBS_config     := -lcjson
LIBS_proxy      := -levent_core -levent_extra -lhttp_parser
LIBS_loadgen    := -levent_core -lhttp_parser

.PHONY: all
all: programs agent

# --- libraries: all of a folder but its main program --------------------
MAINS := proxy/tailor.c loadgen/tailor-load.c tailorctl/tailorctl.c
sources = $(filter-out $(MAINS),$(wildcard $(1)/*.c $(1)/*/*.c))
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(call sources,$(1)))
archives = $(foreach f,$(1) $(NEEDS_$(1)),$(BUILD)/lib$(f).a)
libraries = $(sort $(foreach f,$(1) $(NEEDS_$(1)),$(LIBS_$(f))))

$(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -c -o $@ $<

define folder
$(BUILD)/lib$(1).a: $(call objects,$(1))
	@mkdir -p $$(@D)
	@rm -f $$@
	ar rcs $$@ $$^
endef
AGENT_SOURCES := $(wildcard profiler/jvm/agent*.c)
sources = $(filter-out $(MAINS) $(AGENT_SOURCES),$(wildcard $(1)/*.c $(1)/*/*.c))
$(foreach f,$(FOLDERS) loadgen tailorctl,$(eval $(call folder,$(f))))

# --- programs ------------------------------------------------------------
.PHONY: programs agent
programs: $(BUILD)/tailor $(BUILD)/tailorctl $(BUILD)/tailor-load
define program
$(BUILD)/$(1): $(BUILD)/obj/$(2).o $(call archives,$(3))
	$$(CC) $$(LDFLAGS) -o $$@ $$^ $(call libraries,$(3))
endef
$(eval $(call program,tailor,proxy/tailor,proxy))
$(eval $(call program,tailorctl,tailorctl/tailorctl,tailorctl))
$(eval $(call program,tailor-load,loadgen/tailor-load,loadgen))

agent: $(BUILD)/libtailor-jvm.so
$(BUILD)/libtailor-jvm.so: $(AGENT_SOURCES) talechain/talechain.h
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -isystem $(JAVA_HOME)/include \
	    -isystem $(JAVA_HOME)/include/linux -o $@ $(AGENT_SOURCES) -lpthread

# --- unit tests: tests/unit/<folder>/test_*.c -----------------------------
.PHONY: unit $(FOLDERS:%=unit-%) unit-loadgen
unit: $(FOLDERS:%=unit-%) unit-loadgen
define unit_folder
TESTS_$(1) := $$(patsubst tests/unit/$(1)/%.c,$(BUILD)/unit/$(1)/%,\
    $$(wildcard tests/unit/$(1)/test_*.c))
$(BUILD)/unit/$(1)/%: $(BUILD)/obj/tests/unit/$(1)/%.o $(call archives,$(1))
	@mkdir -p $$(@D)
	$$(CC) $$(LDFLAGS) -o $$@ $$^ $(call libraries,$(1)) -lcmocka
unit-$(1): $$(TESTS_$(1))
	@set -e; for t in $$^; do echo "== $$$$t"; $$$$t; done
endef
$(foreach f,$(FOLDERS) loadgen,$(eval $(call unit_folder,$(f))))

.PHONY: clean
clean:
	rm -rf build build-*

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
