/**
 * `propylon/kit`: what several plugins need and a first plugin does not - points and services of the gateway, servers of your own,
 * and tools for time, JSON and HTTP of strangers.
 */

// Points
export { definePoint, type Point } from "./plugin/point.ts";
export { Authenticators, Checks, Pages } from "./plugin/kernel-points.ts";
export { Endpoints, Listeners, ServerTypes } from "./plugin/config-points.ts";
export type { EndpointInput, ListenerInput } from "./plugin/definitions.ts";
export { EventKinds, type EventKind } from "./plugin/event-kind.ts";
export { Filters, type Filter, type Listed } from "./plugin/filters.ts";
export { Reshapes, type Reshape, type Reshaped } from "./plugin/reshapes.ts";

// Services of the gateway
export { Audit, Files, Lists, Metrics } from "./plugin/kernel-services.ts";
export { Management, type ReloadPlan, type RunningCall } from "./plugin/management-service.ts";

// The gateway and its config
export type { OptionSelector } from "./plugin/definitions.ts";
export { addressSchema } from "./config/schema.ts";
export { perGeneration } from "./gateway/per-generation.ts";
export { VERSION } from "./kit/version.ts";

// Who calls
export { createPrincipal } from "./kit/principal.ts";
export { admits } from "./http/guard.ts";
export { ROLES } from "./kit/roles.ts";
export {
  type Authenticate,
  type AuthenticatorOptions,
  type Credentials,
  asProven,
} from "./plugin/authentication.ts";

// Calls
export type { CallSources } from "./kit/types.ts";
export { amendCall } from "./call/call.ts";
export { addSignal, Cancellation } from "./kit/cancellation.ts";
export { traceOf } from "./call/trace.ts";
export {
  endOf,
  type CallEnd,
  outcomeOf,
  type Outcome,
  isFailure,
  CALL_OUTCOMES,
  type CallOutcome,
} from "./call/outcome.ts";

// Servers of your own
export type { ServerType, ManagedServer } from "./call/server-type.ts";
export type { ServerEvent, ProbeReport, ProbeRung } from "./call/server.ts";
export { RefreshedServer } from "./server/sdk/refreshed-server.ts";
export { Refresher } from "./server/sdk/refresher.ts";
export { StatusTracker } from "./server/status.ts";
export { makeCatalogue } from "./call/catalogue.ts";
export { usableEntries } from "./server/entries.ts";
export { toToolName, UniqueNames } from "./kit/tool-name.ts";

// Time
export { parseDuration } from "./kit/units.ts";
export { pause, within, setTimer, setTicker, timeoutSignal } from "./kit/timers.ts";
export { backoffDelay, type BackoffPolicy, readRetryAfter } from "./kit/backoff.ts";

// Bounds
export { FairQuota } from "./kit/fair-quota.ts";
export { LookupQuota } from "./kit/lookup-quota.ts";
export { Recent } from "./kit/recent.ts";
export { Semaphore } from "./kit/semaphore.ts";
export { boundedRecord } from "./kit/bounded-record.ts";
export { checkShape, FIRST_PROBLEM } from "./kit/check-shape.ts";
export { problemText } from "./kit/problem-text.ts";
export { matchesWildcard } from "./kit/wildcard.ts";

// JSON of strangers
export { isObject, parseJson, isWithinDepth } from "./kit/json.ts";
export { parseExact, writeJson } from "./kit/exact-json.ts";
export { ExactNumber } from "./kit/exact-number.ts";

// HTTP that you serve
export { checkInput, pathParameter, readJson, createEtag, isUnmodified } from "./http/request.ts";
export { SseBody, sseFrame, SSE_HEADERS } from "./kit/sse-body.ts";

// HTTP that you send
export {
  HttpClient,
  type HttpClientOptions,
  type HttpClientRequest,
  HttpClientReply,
} from "./kit/http-client.ts";
export { AllowedAddresses, isLoopback } from "./kit/addresses.ts";
export { networkFault, networkReason, sizeFault } from "./kit/faults.ts";

// Files and packages
export { importOptional } from "./kit/optional-import.ts";
export { lockFile, type FileLock } from "./kit/lock.ts";

// Secrets
export { digestOf } from "./kit/digest.ts";
export { Fernet } from "./kit/fernet.ts";
export { createSealer, secretKeysSchema } from "./config/sealer.ts";
