/**
 * `propylon/kit`: what several plugins need and a first plugin does not - timers that hold any time, JSON and HTTP of strangers,
 * children, addresses, parts of servers. Not part of a gateway's own API.
 */
export { HEADER_NAME, HEADER_VALUE, headersSchema } from "../config/headers.ts";
export { parseDuration } from "../config/units.ts";
export { blobContent, toResult } from "../call/content.ts";
export { Cancellation } from "../call/cancellation.ts";
export { ERROR_STATUS, toEnvelope, toProblem, toRpcError, wordsOf } from "../errors.ts";
export type { ReloadPlan } from "../plugin/control.ts";
export { perGeneration } from "../gateway/per-generation.ts";
export type { Cut } from "../http/backlog.ts";
export { networkFault, networkReason, sizeFault } from "../servers/faults.ts";
export { type Child, type Exit, spawnChild } from "../process/child.ts";
export { readEvents, readTypedEvents } from "../servers/events.ts";
export { METRICS_CONTENT_TYPE } from "../plugin/metrics.ts";
export { endOf, outcomeOf, type CallEnd, type CallOutcome, type Outcome } from "../call/outcome.ts";
export type { ConfigExtension, EndpointInput, ListenerInput } from "../plugin/definitions.ts";
export type { PluginWarning } from "../plugin/description.ts";
export type {
  DirectAnswer,
  DirectHandler,
  DirectHead,
  DirectRequest,
  WebSocketOptions,
} from "../http/route.ts";
export { EMPTY_CATALOGUE, type ProbeReport, type ProbeRung } from "../server/server.ts";
export type { RefresherOptions } from "../server/refresher.ts";
export { traceOf } from "../trace.ts";
export { type CallSource, type RpcError, LITERAL_PROGRESS } from "../call/types.ts";
export { RESERVED_SERVERS } from "../config/names.ts";
export { lockFile, type FileLock } from "./lock.ts";
export type { Deadline, DeadlineRule, Timeouts } from "../call/deadline.ts";
export { amendCall } from "../call/amend.ts";
export { MAX_DELAY_MS, pause, setTicker, setTimer, timeoutSignal, within } from "../timers.ts";
export { AllowedAddresses, type Resolve } from "./addresses.ts";
export { isSameHost } from "./document-host.ts";
export {
  checkInput,
  isUnmodified,
  pathParameter,
  prefersEvents,
  readJson,
} from "../http/request.ts";
export { isObject } from "./json.ts";
export { isWithinDepth, parseJson } from "./parse-json.ts";
export { matchesWildcard } from "./wildcard.ts";
