admin_actions.o: proxy/admin/admin_actions.c proxy/admin/admin_handlers.h \
  proxy/admin/admin_call.h proxy/admin/tale_api.h proxy/admin/token.h \
  http/http.h http/slice.h proxy/analysis/analysis.h \
  proxy/analysis/latencies.h base/text.h base/instant.h \
  proxy/analysis/routes.h base/busiest.h talechain/store/accounts.h \
  base/histogram.h talechain/events/cause.h talechain/events/hazard.h \
  talechain/events/counters.h proxy/analysis/tail.h \
  proxy/analysis/accounts.h talechain/claims/story.h \
  talechain/tale/tale.h talechain/timeline/timeline.h \
  talechain/talechain.h proxy/analysis/tale_format.h \
  talechain/store/store.h proxy/net/buffer.h proxy/client/clients.h \
  profiler/profiler.h profiler/options/stats.h \
  profiler/options/options.h proxy/client/peer.h config/config.h \
  base/json.h proxy/net/loop.h proxy/net/spool.h proxy/net/timer.h \
  proxy/stats/metrics.h hedging/hedging.h hedging/window.h \
  proxy/stats/distribution.h base/log.h proxy/admin/admin.h \
  proxy/admin/admin_reports.h proxy/admin/exposition.h \
  proxy/request/hazards.h proxy/request/proxy.h base/topology.h \
  config/generation.h hedging/steer.h proxy/request/request_id.h \
  proxy/request/slow_target.h proxy/stats/ledger.h proxy/stats/gain.h \
  proxy/stats/recent.h proxy/upstream/upstream.h proxy/net/message.h \
  proxy/upstream/replay.h proxy/upstream/server.h

proxy/admin/admin_handlers.h:

proxy/admin/admin_call.h:

proxy/admin/tale_api.h:

proxy/admin/token.h:

http/http.h:

http/slice.h:

proxy/analysis/analysis.h:

proxy/analysis/latencies.h:

base/text.h:

base/instant.h:

proxy/analysis/routes.h:

base/busiest.h:

talechain/store/accounts.h:

base/histogram.h:

talechain/events/cause.h:

talechain/events/hazard.h:

talechain/events/counters.h:

proxy/analysis/tail.h:

proxy/analysis/accounts.h:

talechain/claims/story.h:

talechain/tale/tale.h:

talechain/timeline/timeline.h:

talechain/talechain.h:

proxy/analysis/tale_format.h:

talechain/store/store.h:

proxy/net/buffer.h:

proxy/client/clients.h:

profiler/profiler.h:

profiler/options/stats.h:

profiler/options/options.h:

proxy/client/peer.h:

config/config.h:

base/json.h:

proxy/net/loop.h:

proxy/net/spool.h:

proxy/net/timer.h:

proxy/stats/metrics.h:

hedging/hedging.h:

hedging/window.h:

proxy/stats/distribution.h:

base/log.h:

proxy/admin/admin.h:

proxy/admin/admin_reports.h:

proxy/admin/exposition.h:

proxy/request/hazards.h:

proxy/request/proxy.h:

base/topology.h:

config/generation.h:

hedging/steer.h:

proxy/request/request_id.h:

proxy/request/slow_target.h:

proxy/stats/ledger.h:

proxy/stats/gain.h:

proxy/stats/recent.h:

proxy/upstream/upstream.h:

proxy/net/message.h:

proxy/upstream/replay.h:

proxy/upstream/server.h:
