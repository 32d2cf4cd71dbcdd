observed.o: profiler/attach/observed.c profiler/attach/observed.h \
  profiler/attach/process.h base/permission.h profiler/attach/sender.h \
  profiler/channels/command.h base/instant.h talechain/talechain.h \
  profiler/observer/observer_rest.h profiler/options/options.h \
  profiler/processes/finder.h profiler/jvm/hsperf_page.h \
  profiler/channels/output.h profiler/channels/hazard_ring.h \
  talechain/events/hazard.h talechain/timeline/timeline.h \
  profiler/jvm/pause.h profiler/jvm/hsperf_format.h \
  profiler/jvm/vm_thread.h profiler/options/stats.h \
  profiler/kernel/kernel.h profiler/channels/channel.h \
  talechain/timeline/cursor.h profiler/kernel/abi.h \
  profiler/channels/owner.h profiler/processes/proc.h \
  profiler/runtimes/follow.h profiler/runtimes/abi.h \
  profiler/runtimes/probes.h profiler/runtimes/table.h base/file.h \
  base/log.h base/text.h

profiler/attach/observed.h:

profiler/attach/process.h:

base/permission.h:

profiler/attach/sender.h:

profiler/channels/command.h:

base/instant.h:

talechain/talechain.h:

profiler/observer/observer_rest.h:

profiler/options/options.h:

profiler/processes/finder.h:

profiler/jvm/hsperf_page.h:

profiler/channels/output.h:

profiler/channels/hazard_ring.h:

talechain/events/hazard.h:

talechain/timeline/timeline.h:

profiler/jvm/pause.h:

profiler/jvm/hsperf_format.h:

profiler/jvm/vm_thread.h:

profiler/options/stats.h:

profiler/kernel/kernel.h:

profiler/channels/channel.h:

talechain/timeline/cursor.h:

profiler/kernel/abi.h:

profiler/channels/owner.h:

profiler/processes/proc.h:

profiler/runtimes/follow.h:

profiler/runtimes/abi.h:

profiler/runtimes/probes.h:

profiler/runtimes/table.h:

base/file.h:

base/log.h:

base/text.h:
