/**
 * `propylon/kit`: what several plugins need and a first plugin does not - timers that hold any time, JSON and HTTP of strangers,
 * children, addresses, parts of servers and of endpoints. Not part of a gateway's own API.
 */

// Time
export { parseDuration } from "../config/units.ts";
export { MAX_DELAY_MS, pause, setTicker, setTimer, timeoutSignal, within } from "../timers.ts";
export { parseVariables } from "./parse-variables.ts";
export {
  backoffDelay,
  type BackoffPolicy,
  META_RETRY_AFTER,
  readRetryAfter,
  wholeDelay,
} from "./backoff.ts";
export { BoundedLog, type LogFacts, type WriteLine } from "./bounded-log.ts";
export { Buckets } from "./buckets.ts";
export { FetchedValue, FetchFailure } from "./fetched-value.ts";
export { Checks, type ChecksOptions, type KnownFact } from "./fact-checks.ts";
export { Recent } from "./recent.ts";
export { Semaphore } from "./semaphore.ts";

// JSON and bytes of strangers
export { firstBytes, lastBytes, Pieces } from "../call/chunks.ts";
export {
  compareNumbers,
  ExactNumber,
  isInteger,
  isNumber,
  mapExact,
  roundFractions,
  toBigInt,
} from "./exact-number.ts";
export { parseExact, writeJson } from "./exact-json.ts";
export { isObject } from "./json.ts";
export { followPointer } from "./json-pointer.ts";
export { DEEPEST, latin1Of, type JsonScan } from "./json-grammar.ts";
export { scanJson } from "./json-scan.ts";
export { hasBrackets, isWithinDepth, parseBounded, parseJson, scalarText } from "./json.ts";
export { FairQuota } from "./fair-quota.ts";
export { type LookupBounds, LookupQuota } from "./lookup-quota.ts";
export { matchesLiterals, matchesWildcard } from "./wildcard.ts";

// HTTP
export { HEADER_NAME, HEADER_VALUE, headersSchema, lowerCaseNames } from "../config/headers.ts";
export { librariesOf } from "./libraries.ts";
export { asProven } from "../http/auth/authentication.ts";
export type { FindCredential, StandIn } from "../http/auth/authentication.ts";
export { type Leases, WITHDRAWN } from "../http/auth/leases.ts";
export { isCrowded, isJwtQualified, JWT, qualifiedId } from "../http/auth/people.ts";
export { readRef } from "../http/auth/principal.ts";
export {
  type Bearer,
  type NamedPassword,
  readBasic,
  readBearer,
  readUnprovenClaims,
} from "../http/auth/key.ts";
export { type RsaAlgorithm, rsaAlgorithmSchema } from "../config/rsa-algorithm.ts";
export { KeySet } from "../http/auth/key-set.ts";
export { TokenMemory } from "../http/auth/token-memory.ts";
export {
  believedUntil,
  CLOCK_TOLERANCE_S,
  isOfKind,
  PUBLIC_KEY_ALGORITHMS,
} from "../http/auth/token-rules.ts";
export { ExpiringMap } from "./expiring-map.ts";
export { createSecret, hasChecksum, randomText } from "../http/auth/key.ts";
export { digestOf } from "./digest.ts";
export {
  keepError,
  keepPrincipal,
  type KeptError,
  keptErrorSchema,
  type KeptPrincipal,
  keptPrincipalSchema,
  restoreError,
  restorePrincipal,
} from "./kept.ts";
export { importOptional } from "./optional-import.ts";
export { boundedRecord } from "./bounded-record.ts";
export { checkShape, FIRST_PROBLEM, isSmall } from "./check-shape.ts";
export { describeProblems, problemText, toProblems, type Problem } from "./problem-text.ts";
export { listenerUrl } from "../http/allowed-hosts.ts";
export type { Backlog, Cut } from "../http/backlog.ts";
export { cutSoon } from "../http/failure.ts";
export { sessionOf, takeBody } from "../http/http-messages.ts";
export type {
  DirectAnswer,
  DirectHandler,
  DirectHead,
  DirectRequest,
  NodeHandler,
  PageHandler,
  WebSocketOptions,
} from "../http/route.ts";
export {
  checkInput,
  createEtag,
  isUnmodified,
  pathParameter,
  prefersEvents,
  readJson,
} from "../http/request.ts";
export { METRICS_CONTENT_TYPE } from "../plugin/metrics.ts";
export {
  type ProviderFetch,
  ProviderHttp,
  type ProviderHttpOptions,
  type ProviderRequest,
} from "./provider-http.ts";
export { escapeHtml } from "./html.ts";
export { troubleFor, type WithoutTrouble, withoutTrouble } from "../server/trouble.ts";
export { placeOf } from "../http/auth/guesses.ts";
export { TrustedProxies } from "../http/auth/proxies.ts";
export { AllowedAddresses, isLoopback, isSameHost, type Resolve, unbracket } from "./addresses.ts";
export {
  HttpClient,
  type HttpClientOptions,
  HttpClientReply,
  type HttpClientRequest,
  readUpTo,
} from "./http-client.ts";
export {
  SSE_HEADERS,
  SSE_KEEP_ALIVE,
  SSE_KEEP_ALIVE_MS,
  SseBody,
  type SseBodyOptions,
  sseFrame,
  sseHead,
} from "./sse-body.ts";
export { CallStream, resultOf, streamAnswer } from "./call-stream.ts";
export { readEvents, readTypedEvents } from "./events.ts";
export { SseParser, type SseSink } from "./sse.ts";
export { isSafeKey, SafeKeys, SafeNames } from "./safe-keys.ts";
export { readInTurns, type StreamTurns, Turns } from "./turns.ts";

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
} from "../errors.ts";
export { downSince } from "../server/status.ts";
export { networkFault, networkReason, serverFault, sizeFault, statusFault } from "./faults.ts";

// Files, children and the environment
export { readDuration, readPort, readVariable, unreadableVariable } from "./env.ts";
export { type Child, type Exit, spawnChild } from "../process/child.ts";
export { reasonOf, RingBuffer } from "../process/stderr.ts";
export { spawnStdio, type StdioChannel } from "../process/stdio.ts";
export { lockFile, type FileLock } from "./lock.ts";
export { replaceFile, sweepTemporary } from "./replace-file.ts";

// Secrets at rest
export { Fernet, type FernetTimes } from "./fernet.ts";
export { createSealer, passingSealer, secretKeysSchema } from "./sealer.ts";

// The store
export { askOnce, type OneQuestion } from "./ask-once.ts";
export { isUnheard } from "../store/ask.ts";
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
} from "../store/driver.ts";
export type { Migration, OpenDatabase } from "../store/database.ts";
export { LocalEvents } from "../store/local-events.ts";
export { storeKey } from "../store/store-key.ts";
export { Records, type RecordsOptions } from "../store/records.ts";
export type {
  Entry,
  Kv,
  KvOptions,
  Lease,
  LeaseOptions,
  Log,
  LogEntry,
  LogOptions,
  Meter,
  MeterOptions,
  Replica,
  Store,
  Topic,
} from "../store/store.ts";

// Capabilities of clients and servers
export {
  askableOf,
  declaresTasks,
  isAskable,
  missingCapability,
  TASKS_EXTENSION,
  withoutTasks,
  withTasks,
} from "./capabilities.ts";
export {
  notOffered,
  OpenQuestions,
  tooManyQuestions,
  WITHDRAWN_QUESTION,
} from "./open-questions.ts";

// Calls
export { amendCall } from "../call/call.ts";
export { answerInputs, contains, needsInput } from "../call/bridge.ts";
export {
  abortableOf,
  abortError,
  addSignal,
  Cancellation,
  type Abortable,
} from "../call/cancellation.ts";
export { toResult } from "../call/content.ts";
export { blobContent, type ContentPart, fromContent, toContent } from "./blocks.ts";
export { unwrapResult, wrapResult } from "./wrapped-result.ts";
export type { Deadline, DeadlineRule, Timeouts } from "../call/pipeline.ts";
export { InFlightSet, type Slotted } from "../call/cancellation.ts";
export {
  CALL_OUTCOMES,
  endOf,
  isFailure,
  outcomeOf,
  type CallEnd,
  type CallOutcome,
  type Outcome,
} from "../call/outcome.ts";
export type { Abortion } from "../call/pipeline.ts";
export type { ResultEdit } from "../call/chunks.ts";
export { type CallSource, type RpcError, type RpcId, LITERAL_PROGRESS } from "../call/types.ts";
export {
  adoptTrace,
  cleanMeta,
  traceHeaders,
  traceOf,
  withoutClaims,
  withoutReserved,
} from "../trace.ts";
export { includes } from "../call/chunks.ts";
export { SEVERITIES, severityOf } from "./severities.ts";

// Servers
export { RESERVED_SERVERS } from "../config/names.ts";
export {
  type HttpServerConfig,
  type StdioServerConfig,
  httpServerSchema,
  connectTimeoutOf,
  isPersonal,
  readConnection,
  type ServerConnection,
  stdioServerSchema,
} from "../config/server-schema.ts";
export { fillTemplate, hasTemplate } from "../config/header-template.ts";
export { readAuth, type ServerAuth } from "../config/server-auth.ts";
export { maskerOf, maskSaid } from "../config/mask.ts";
export { changedLists, LISTS, type ListName } from "../server/catalogue.ts";
export { usableEntries } from "../server/entries.ts";
export type { EntryKind, LeftOut } from "../server/left-out-entry.ts";
export { LeftOutLog } from "../server/left-out.ts";
export { TOO_DEEP } from "../server/schema-flaws.ts";
export type { RefreshedServerOptions } from "../server/refreshed-server.ts";
export { Refresher, type RefresherOptions } from "../server/refresher.ts";
export {
  EMPTY_CATALOGUE,
  type ProbeReport,
  type ProbeRung,
  type ServerPlacement,
} from "../server/server.ts";
export { toToolName, UniqueNames } from "./tool-name.ts";

// Endpoints and the gateway as a whole
export { addressSchema, type EndpointConfig, endpointSchema } from "../config/schema.ts";
export type {
  CallRunner,
  CompiledEndpoint,
  EndpointContent,
  EndpointHost,
  EndpointName,
  EndpointServer,
} from "../gateway/endpoint-server.ts";
export { perGeneration } from "../gateway/per-generation.ts";
export type { ConfigValue } from "../config/origin.ts";
export type { ReloadPlan, RunningCall } from "../plugin/control.ts";
export type {
  ConfigExtension,
  EndpointInput,
  ListenerInput,
  OptionReference,
  OptionSelector,
  StoreAbility,
  StoreNeed,
} from "../plugin/definitions.ts";
export type { GatewayWarning, PluginWarning, WorkerStatus } from "../plugin/description.ts";
export type {
  CheckedPanel,
  Panel,
  PanelAccess,
  PanelAction,
  PanelColumn,
  PanelView,
  Pointer,
  RouteReference,
  ValueForm,
} from "../plugin/panel.ts";
export type { EventKind, EventKinds } from "../plugin/event-kind.ts";
export type { DeclaredEventKind, PluginEvent } from "../plugin/plugin-event.ts";
export type { FilterOptions, PrincipalFilters } from "../plugin/filters.ts";
