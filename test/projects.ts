/** Which test file belongs to which project. What is in no list is of `parts`: real sockets, real children. */

/** Neither sockets nor children (test/unit-guard.ts sees to it): they share their modules and take every core. */
export const UNIT: readonly string[] = [
  "test/core/{delay,trace}.test.ts",
  "test/core/call/{amend,answer,content,in-flight}.test.ts",
  "test/core/cli/{container,flags,run-process}.test.ts",
  "test/core/config/{agents,environment,identity,jsonschema,load,mask,sentences,spelling,watch,wrong}.test.ts",
  "test/core/gateway/{leak,plan}.test.ts",
  "test/core/http/allowed-hosts.test.ts",
  "test/core/http/auth/{chain,key,principal}.test.ts",
  "test/core/kit/{backoff,blocks,document-host,env,json-scan,parse-json}.test.ts",
  "test/core/plugin/graph.test.ts",
  "test/core/process/{lines,ring-buffer,stderr}.test.ts",
  "test/core/server/{catalogue,refresher,status,template}.test.ts",
  "test/e2e/queue-history.test.ts",
  "test/plugins/a2a/{conversations,form,states}.test.ts",
  "test/plugins/a2a-contract/{request,schemas}.test.ts",
  "test/plugins/a2a-standard/{outbox,parts}.test.ts",
  "test/plugins/admin/{addition,command}.test.ts",
  "test/plugins/agents-loop/properties.test.ts",
  "test/plugins/breaker/circuit.test.ts",
  "test/plugins/conformance/stream.test.ts",
  "test/plugins/events/{docs,stream}.test.ts",
  "test/plugins/gating/closed.test.ts",
  "test/plugins/health/verdict.test.ts",
  "test/plugins/history/ring.test.ts",
  "test/plugins/mcp/{envelope,names,parked-calls,progress}.test.ts",
  "test/plugins/openapi/{check,coerce,output,reply}.test.ts",
  "test/plugins/progress/{meter,reporter}.test.ts",
  "test/plugins/ratelimit/{buckets,slots}.test.ts",
  "test/plugins/servers/{message,own-connections,questions}.test.ts",
  "test/plugins/sidecar/words.test.ts",
];

/** They measure their process: its heap, its CPU time, its descriptors, its children. Each has one of its own. */
export const ALONE: readonly string[] = [
  "test/core/http/body.test.ts",
  "test/core/process/{channel,launch,lines,supervision}.test.ts",
  "test/plugins/a2a/missing-sdk.test.ts",
  "test/plugins/health/speed.test.ts",
  "test/plugins/mcp/{flow,sessions}.test.ts",
  "test/plugins/openapi/progress.test.ts",
];

/** Kills, signals, loads, builds and whole projects: more than five seconds each. */
export const LONG: readonly string[] = [
  "test/contract/checkout.test.ts",
  "test/core/build/{boot,build,bundlers}.test.ts",
  "test/core/cli/{check,commands,compose,project,wrong}.test.ts",
  "test/core/config/write.test.ts",
  "test/core/kit/lock.test.ts",
  "test/core/store/database.test.ts",
  "test/create-gateway/**/*.test.ts",
  "test/e2e/{a2a-container,a2a-sigterm,access-plugins,answers,control,edit-kill,evict,fuzz,hostile-pattern}.test.ts",
  "test/e2e/{queue,queue-campaign,questions-owner,relay-isolation,release,reload,sigterm}.test.ts",
  "test/e2e/{store-away,templates-projects,terminal,third-party,tutorials,unread}.test.ts",
  "test/e2e/hostile/eras.test.ts",
  "test/plugins/a2a/elicitation.test.ts",
  "test/plugins/a2a-standard/push-again.test.ts",
  "test/plugins/conformance/**/*.test.ts",
  "test/plugins/events/load.test.ts",
  "test/plugins/gating/kill.test.ts",
  "test/plugins/lifecycle/{command,load,tools}.test.ts",
  "test/plugins/openapi/{call,mcpo,timeout}.test.ts",
  "test/plugins/postgres/**/*.test.ts",
  "test/plugins/sidecar/{access,cli,faults,hostile}.test.ts",
  "test/plugins/telemetry/queue.test.ts",
];
