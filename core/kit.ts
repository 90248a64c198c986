/**
 * `propylon/kit`: what several plugins need and a first plugin does not - timers that hold any time, JSON and HTTP of strangers,
 * children, addresses, parts of servers and of endpoints. Not part of a gateway's own API.
 */

// Time
export { parseDuration } from "./kit/units.ts";
export { MAX_DELAY_MS, pause, setTicker, setTimer, timeoutSignal, within } from "./kit/timers.ts";
export { parseVariables } from "./kit/parse-variables.ts";
export {
  backoffDelay,
  type BackoffPolicy,
  META_RETRY_AFTER,
  readRetryAfter,
  wholeDelay,
} from "./kit/backoff.ts";
export { BoundedLog, type LogFacts, type WriteLine } from "./kit/bounded-log.ts";
export { Buckets } from "./kit/buckets.ts";
export { FetchedValue, FetchFailure } from "./kit/fetched-value.ts";
export { FactChecks, type FactChecksOptions, type KnownFact } from "./kit/fact-checks.ts";
export { Recent } from "./kit/recent.ts";
export { Semaphore } from "./kit/semaphore.ts";

// JSON and bytes of strangers
export { firstBytes, lastBytes, Pieces } from "./kit/chunks.ts";
export {
  compareNumbers,
  ExactNumber,
  isInteger,
  isNumber,
  mapExact,
  roundFractions,
  toBigInt,
} from "./kit/exact-number.ts";
export { parseExact, writeJson } from "./kit/exact-json.ts";
export { isObject } from "./kit/json.ts";
export { followPointer } from "./kit/json-pointer.ts";
export { DEEPEST, latin1Of, type JsonScan } from "./kit/json-grammar.ts";
export { scanJson } from "./kit/json-scan.ts";
export { hasBrackets, isWithinDepth, parseBounded, parseJson, scalarText } from "./kit/json.ts";
export { FairQuota } from "./kit/fair-quota.ts";
export { type LookupBounds, LookupQuota } from "./kit/lookup-quota.ts";
export { matchesLiterals, matchesWildcard } from "./kit/wildcard.ts";

// HTTP
export { HEADER_NAME, HEADER_VALUE, headersSchema, lowerCaseNames } from "./kit/headers.ts";
export { librariesOf } from "./call/libraries.ts";
export {
  asProven,
  type AuthenticatorDefinition,
  EVERYBODY,
  type FindCredential,
  type StandIn,
} from "./plugin/authentication.ts";
export { type Leases, WITHDRAWN } from "./plugin/leases.ts";
export { credentialsSchema, JWT, KEYS } from "./config/auth.ts";
export { readRef } from "./call/principal.ts";
export {
  type Bearer,
  type NamedPassword,
  readBasic,
  readBearer,
  readUnprovenClaims,
} from "./http/authorization.ts";
export { RSA_ALGORITHMS, type RsaAlgorithm, rsaAlgorithmSchema } from "./config/rsa-algorithm.ts";
export { ExpiringMap } from "./kit/expiring-map.ts";
export { createSecret, hasChecksum, randomText } from "./kit/secret.ts";
export { digestOf } from "./kit/digest.ts";
export {
  keepError,
  keepPrincipal,
  type KeptError,
  keptErrorSchema,
  type KeptPrincipal,
  keptPrincipalSchema,
  restoreError,
  restorePrincipal,
} from "./call/kept.ts";
export { importOptional } from "./kit/optional-import.ts";
export { boundedRecord } from "./kit/bounded-record.ts";
export { checkShape, FIRST_PROBLEM, isSmall } from "./kit/check-shape.ts";
export { describeProblems, problemText, toProblems, type Problem } from "./kit/problem-text.ts";
export { listenerUrl } from "./http/allowed-hosts.ts";
export type { Backlog, Cut } from "./plugin/backlog.ts";
export { cutSoon } from "./http/failure.ts";
export { sessionOf, takeBody } from "./http/http-messages.ts";
export type {
  DirectAnswer,
  DirectHandler,
  DirectHead,
  DirectRequest,
  NodeHandler,
  PageHandler,
  WebSocketOptions,
} from "./plugin/route.ts";
export { ROUTE_METHODS } from "./plugin/route.ts";
export {
  checkInput,
  createEtag,
  isUnmodified,
  pathParameter,
  prefersEvents,
  readJson,
} from "./http/request.ts";
export { METRICS_CONTENT_TYPE } from "./gateway/metrics.ts";
export {
  type ProviderFetch,
  ProviderHttp,
  type ProviderHttpOptions,
  type ProviderRequest,
} from "./kit/provider-http.ts";
export { escapeHtml } from "./kit/html.ts";
export { troubleFor, type WithoutTrouble, withoutTrouble } from "./http/trouble.ts";
export { placeOf } from "./http/guesses.ts";
export { TrustedProxies } from "./http/proxies.ts";
export {
  AllowedAddresses,
  isLoopback,
  isSameHost,
  type Resolve,
  unbracket,
} from "./kit/addresses.ts";
export {
  HttpClient,
  type HttpClientOptions,
  HttpClientReply,
  type HttpClientRequest,
  readUpTo,
} from "./kit/http-client.ts";
export {
  SSE_HEADERS,
  SSE_KEEP_ALIVE,
  SSE_KEEP_ALIVE_MS,
  SseBody,
  type SseBodyOptions,
  sseFrame,
  sseHead,
} from "./kit/sse-body.ts";
export { CallStream, resultOf, streamAnswer } from "./call/call-stream.ts";
export { readEvents, readTypedEvents } from "./kit/events.ts";
export { SseParser, type SseSink } from "./kit/sse.ts";
export { isSafeKey, SafeKeys, SafeNames } from "./kit/safe-keys.ts";
export { readInTurns, type Turns } from "./kit/turns.ts";

// Errors
export {
  amendError,
  clientGone,
  ERROR_STATUS,
  renderError,
  toEnvelope,
  toProblem,
  toRpcError,
  wordsOf,
} from "./kit/errors.ts";
export { downSince, StatusTracker } from "./server/status.ts";
export { networkFault, networkReason, serverFault, sizeFault, statusFault } from "./kit/faults.ts";

// Files, children and the environment
export { readDuration, readPort, readVariable, unreadableVariable } from "./config/env.ts";
export { type Child, type Exit, spawnChild } from "./process/child.ts";
export { reasonOf, RingBuffer } from "./process/stderr.ts";
export { spawnStdio, type StdioChannel } from "./process/stdio.ts";
export { lockFile, type FileLock } from "./kit/lock.ts";
export { replaceFile, sweepTemporary } from "./kit/replace-file.ts";

// Secrets at rest
export { Fernet, type FernetTimes } from "./kit/fernet.ts";
export { createSealer, passingSealer, secretKeysSchema } from "./config/sealer.ts";

// The store
export { askOnce, type OneQuestion } from "./store/ask-once.ts";
export { isUnheard } from "./store/ask.ts";
export type {
  ListOptions,
  LoggedValue,
  LogRetention,
  OpenStore,
  PutOptions,
  QueueDelivery,
  QueuedItem,
  StoreDriver,
  StoredEntry,
  StoredValue,
  StoreHost,
  Unsubscribe,
  WorkQueue,
} from "./store/driver.ts";
export type { Migration, OpenDatabase } from "./store/database.ts";
export { LocalEvents } from "./store/local-events.ts";
export { storeKey } from "./store/store-key.ts";
export { Records, type RecordsOptions } from "./store/records.ts";
export {
  type Entry,
  type Kv,
  type KvOptions,
  type Lease,
  type LeaseOptions,
  type Log,
  type LogEntry,
  type LogOptions,
  type Meter,
  type MeterOptions,
  type Replica,
  Store,
  type Topic,
} from "./store/store.ts";

// Capabilities of clients and servers
export {
  askableOf,
  declaresTasks,
  isAskable,
  missingCapability,
  TASKS_EXTENSION,
  withoutTasks,
  withTasks,
} from "./kit/capabilities.ts";
export {
  notOffered,
  OpenQuestions,
  tooManyQuestions,
  WITHDRAWN_QUESTION,
} from "./kit/open-questions.ts";

// Calls
export { amendCall } from "./call/call.ts";
export { answerInputs, contains, needsInput } from "./call/bridge.ts";
export {
  abortableOf,
  abortError,
  addSignal,
  Cancellation,
  type Abortable,
} from "./call/cancellation.ts";
export { toResult } from "./server/content.ts";
export { blobContent, type ContentPart, fromContent, toContent } from "./kit/blocks.ts";
export { unwrapResult, wrapResult } from "./kit/wrapped-result.ts";
export type { Deadline, DeadlineRule, Timeouts } from "./call/pipeline.ts";
export { InFlightSet, type Slotted } from "./call/cancellation.ts";
export {
  CALL_OUTCOMES,
  endOf,
  isFailure,
  outcomeOf,
  type CallEnd,
  type CallOutcome,
  type Outcome,
} from "./call/outcome.ts";
export type { Abortion } from "./call/pipeline.ts";
export type { ResultEdit } from "./kit/chunks.ts";
export { type CallSources, type RpcError, type RpcId, LITERAL_PROGRESS } from "./kit/types.ts";
export {
  adoptTrace,
  cleanMeta,
  traceHeaders,
  traceOf,
  withoutClaims,
  withoutReserved,
} from "./call/trace.ts";
export { includes } from "./kit/chunks.ts";
export { SEVERITIES, severityOf } from "./kit/severities.ts";

// Servers
export { RESERVED_SERVERS } from "./config/names.ts";
export { maskerOf, maskSaid } from "./config/mask.ts";
export { changedLists, LISTS, type ListName, makeCatalogue } from "./call/catalogue.ts";
export { usableEntries } from "./server/entries.ts";
export type { EntryKind, LeftOut } from "./call/left-out-entry.ts";
export { LeftOutLog } from "./server/left-out.ts";
export { TOO_DEEP } from "./server/schema-flaws.ts";
export { RefreshedServer, type RefreshedServerOptions } from "./server/refreshed-server.ts";
export { Refresher, type RefresherOptions } from "./server/refresher.ts";
export {
  EMPTY_CATALOGUE,
  type ProbeReport,
  type ProbeRung,
  type ServerPlacement,
} from "./call/server.ts";
export { toToolName, UniqueNames } from "./kit/tool-name.ts";

// Endpoints and the gateway as a whole
export { addressSchema, type EndpointConfig, endpointSchema } from "./config/schema.ts";
export {
  type CallRunner,
  type CompiledEndpoint,
  type EndpointContent,
  EndpointHost,
  type EndpointName,
  type EndpointServer,
  EndpointServers,
} from "./plugin/endpoint-server.ts";
export {
  type RegisteredReshape,
  type Reshape,
  type Reshaped,
  Reshapes,
} from "./plugin/reshapes.ts";
export { perGeneration } from "./gateway/per-generation.ts";
export type { ConfigValue } from "./config/origin.ts";
export type { PluginHook } from "./plugin/hooks.ts";
export type { ReloadPlan, RunningCall } from "./plugin/management-service.ts";
export type {
  EndpointInput,
  ListenerInput,
  OptionReference,
  OptionSelector,
  PluginNeeds,
  StoreAbility,
  StoreKind,
  StoreNeed,
} from "./plugin/definitions.ts";
export type { GatewayWarning, PluginWarning, WorkerStatus } from "./plugin/description.ts";
export { Pages, StandIns } from "./plugin/kernel-points.ts";
export type { Check } from "./plugin/plugin-checks.ts";
export type { ComposedGateway, Contribution, Point, PointRules } from "./plugin/point.ts";
export { PERSON_ROLES, type PersonRole, ROLES } from "./kit/roles.ts";
export { isZodSchema } from "./kit/zod-schema.ts";
export { type EventKind, EventKinds } from "./plugin/event-kind.ts";
export type { DeclaredEventKind, PluginEvent } from "./plugin/plugin-event.ts";
export {
  type Filter,
  Filters,
  type PrincipalFilters,
  type RegisteredFilter,
} from "./plugin/filters.ts";
export { Endpoints, Listeners, ServerTypes } from "./plugin/config-points.ts";
export { Audit, Database, Files, Lists, Metrics } from "./plugin/kernel-services.ts";
export { VERSION } from "./kit/version.ts";
