/**
 * `propylon/internal`: what the plugins that come along share with the core - parts of endpoints, of servers and of logins. No promise:
 * any version, a patch too, changes or removes what is here. A plugin that imports it fits exactly one version of Propylon.
 */

// Endpoints
export {
  EndpointHost,
  EndpointServers,
  type EndpointServer,
  type EndpointName,
  type EndpointContent,
  type CompiledEndpoint,
  type CallRunner,
} from "./plugin/endpoint-server.ts";
export { endpointSchema } from "./config/schema.ts";
export { WITHDRAWN } from "./plugin/leases.ts";
export { SignInLinks, StandIns } from "./plugin/kernel-points.ts";
export type { StandIn } from "./plugin/authentication.ts";
export type { ComposedGateway, Contribution } from "./plugin/point.ts";
export type { DeclaredEventKind, PluginEvent } from "./plugin/plugin-event.ts";
export type { GatewayWarning, PluginWarning } from "./plugin/description.ts";
export { listenerUrl } from "./kit/addresses.ts";
export { RESERVED_SERVERS } from "./config/names.ts";
export { isZodSchema } from "./kit/zod-schema.ts";
export type { OptionReference } from "./plugin/definitions.ts";

// Requests and answers of clients
export { takeBody, sessionOf } from "./http/http-messages.ts";
export { cutSoon } from "./http/failure.ts";
export {
  type NodeHandler,
  type DirectHandler,
  type DirectRequest,
  type DirectHead,
  type DirectAnswer,
  ROUTE_METHODS,
} from "./plugin/route.ts";
export { CallStream, resultOf, streamAnswer } from "./server/sdk/call-stream.ts";
export { sseHead, SSE_KEEP_ALIVE } from "./kit/sse-body.ts";
export { SseParser, type SseSink } from "./kit/sse.ts";
export { METRICS_CONTENT_TYPE } from "./gateway/metrics.ts";
export { troubleFor, withoutTrouble } from "./http/trouble.ts";
export { TrustedProxies } from "./http/proxies.ts";
export { placeOf } from "./http/guesses.ts";
export { readInTurns, type Turns } from "./kit/chunks.ts";
export { prefersEvents } from "./http/request.ts";
export { formSchema } from "./plugin/operation.ts";
export { htmlPage, htmlResponse, markup } from "./kit/html.ts";

// Calls
export { type Era, type RpcId, type RpcError, LITERAL_PROGRESS } from "./kit/types.ts";
export type { Timeouts, Deadline } from "./call/pipeline.ts";
export {
  InFlightSet,
  type Slotted,
  abortError,
  abortableOf,
  type Abortable,
} from "./kit/cancellation.ts";
export { answerInputs, contains, needsInput } from "./call/bridge.ts";
export { toResult } from "./server/content.ts";
export { blobContent, fromContent, toContent } from "./kit/blocks.ts";
export { wrapResult, unwrapResult } from "./kit/wrapped-result.ts";
export type { ResultEdit } from "./kit/chunks.ts";
export {
  adoptTrace,
  cleanMeta,
  traceHeaders,
  withoutClaims,
  withoutReserved,
} from "./call/trace.ts";
export { SEVERITIES, severityOf } from "./kit/severities.ts";

// What clients and servers can do
export {
  askableOf,
  declaresTasks,
  isAskable,
  missingCapability,
  TASKS_EXTENSION,
  withTasks,
  withoutTasks,
} from "./kit/capabilities.ts";
export {
  OpenQuestions,
  notOffered,
  tooManyQuestions,
  WITHDRAWN_QUESTION,
} from "./kit/open-questions.ts";

// What the store keeps of a call
export {
  keepError,
  restoreError,
  keptErrorSchema,
  keepPrincipal,
  restorePrincipal,
  keptPrincipalSchema,
  type KeptPrincipal,
} from "./kit/kept.ts";

// Servers
export { librariesOf } from "./server/adapted-server.ts";
export { maskerOf, maskSaid } from "./kit/mask.ts";
export { maskArguments } from "./kit/secret-text.ts";
export { LISTS, type ListName, changedLists } from "./call/catalogue.ts";
export { toolsOf } from "./server/tool-call.ts";
export type { EntryKind, LeftOut } from "./call/left-out-entry.ts";
export { LeftOutLog } from "./server/left-out.ts";
export { TOO_DEEP } from "./server/schema-flaws.ts";
export { downSince } from "./server/status.ts";
export { FactChecks, type KnownFact } from "./kit/fact-checks.ts";
export { EMPTY_CATALOGUE } from "./call/server.ts";

// Logins
export { PERSON_ROLES, type PersonRole } from "./kit/roles.ts";
export { readRef } from "./kit/principal.ts";
export { JWT } from "./config/defaults.ts";
export { type RsaAlgorithm, rsaAlgorithmSchema } from "./config/rsa-algorithm.ts";
export { bearerOf, readBasic, readUnprovenClaims } from "./http/authorization.ts";
export { createSecret, hasChecksum, randomText } from "./kit/secret.ts";
export { passingSealer } from "./config/sealer.ts";
export { ProviderHttp, type ProviderFetch, type ProviderRequest } from "./kit/provider-http.ts";
export { FetchedValue, FetchFailure } from "./kit/fetched-value.ts";
export { BoundedLog, type LogFacts } from "./kit/bounded-log.ts";
export { Buckets } from "./kit/buckets.ts";
export { Arrivals } from "./kit/fair-quota.ts";
export { ExpiringMap } from "./kit/expiring-map.ts";

// Errors
export {
  ERROR_STATUS,
  renderError,
  toEnvelope,
  toRpcError,
  wordsOf,
  amendError,
  clientGone,
} from "./kit/errors.ts";
export { serverFault, statusFault } from "./kit/faults.ts";
export { describeProblems, toProblems } from "./kit/problem-text.ts";

// JSON and bytes
export { Pieces, firstBytes, lastBytes, includes } from "./kit/chunks.ts";
export { scanJson } from "./kit/json-scan.ts";
export { type JsonScan, DEEPEST, latin1Of } from "./kit/json-grammar.ts";
export { hasBrackets, parseBounded, scalarText } from "./kit/json.ts";
export { followPointer } from "./kit/json-pointer.ts";
export { isSmall, READ_ONCE } from "./kit/check-shape.ts";
export {
  compareNumbers,
  isInteger,
  isNumber,
  mapExact,
  roundFractions,
  toBigInt,
} from "./kit/exact-number.ts";
export { isSafeKey, SafeKeys, SafeNames } from "./kit/safe-keys.ts";
export { matchesLiterals } from "./kit/wildcard.ts";

// HTTP that you send
export { HEADER_NAME, HEADER_VALUE, headersSchema, lowerCaseNames } from "./kit/headers.ts";
export { isSameHost, unbracket, type Resolve } from "./kit/addresses.ts";
export { readUpTo } from "./kit/http-client.ts";
export { META_RETRY_AFTER, wholeDelay } from "./kit/backoff.ts";
export { parseVariables } from "./kit/parse-variables.ts";

// Files
export { replaceFile, sweepTemporary } from "./kit/replace-file.ts";

// Credentials of the config
export type { Bearer } from "./http/authorization.ts";
export { type AuthenticatorDefinition, EVERYBODY } from "./plugin/authentication.ts";
export { credentialsSchema } from "./config/auth.ts";
export { KEYS } from "./config/defaults.ts";
export { RSA_ALGORITHMS } from "./config/rsa-algorithm.ts";
