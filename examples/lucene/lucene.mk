# The search service of examples/lucene: `make lucene lucene-index`.
# Uses BUILD, JAVA_HOME and JAVA_SOURCES of the Makefile that includes this.

LUCENE_JARS  := $(foreach j,core analyzers-common queryparser,\
    $(firstword $(wildcard /usr/share/java/lucene-$(j)-[0-9]*.jar)))
LUCENE_CLASSES := $(BUILD)/examples/lucene
# Events need TaleChain's classes; the service itself is built without.
LUCENE_EVENTS := examples/lucene/TaleEvents.java
LUCENE_SOURCES := $(filter-out $(LUCENE_EVENTS),$(wildcard \
    examples/lucene/*.java))

empty :=
LUCENE_PATH  := $(subst $(empty) $(empty),:,$(strip \
    $(LUCENE_CLASSES) $(LUCENE_JARS)))
LUCENE_JAVAC = $(JAVA_HOME)/bin/javac --release 17 -Xlint:all $(ERROR) -g \
    -d $(LUCENE_CLASSES)

.PHONY: lucene lucene-index lucene-jars
lucene: $(LUCENE_CLASSES)/.plain \
    $(if $(JAVA_SOURCES),$(LUCENE_CLASSES)/.events)	## the search service

lucene-jars:
	@test $(words $(LUCENE_JARS)) = 3 || { echo "Lucene's jars are not in \
	/usr/share/java: apt-get install liblucene8-java" >&2; exit 1; }

$(LUCENE_CLASSES)/.plain: $(LUCENE_SOURCES) | lucene-jars
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$(LUCENE_JAVAC) -cp $(LUCENE_PATH) $(LUCENE_SOURCES)
	@touch $@

$(LUCENE_CLASSES)/.events: $(LUCENE_EVENTS) $(LUCENE_CLASSES)/.plain \
    $(BUILD)/java/.made
	$(LUCENE_JAVAC) -cp $(LUCENE_PATH):$(BUILD)/java $(LUCENE_EVENTS)
	@touch $@

lucene-index: lucene	## its index of WordNet, built once
	@$(JAVA_HOME)/bin/java -cp $(LUCENE_PATH) SearchService --build \
	    --index $(BUILD)/lucene-index
