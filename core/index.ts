export { Answer, type RawMessage } from "./answer.ts";
export { AuthenticatorService, type Authenticator, type Credentials } from "./auth.ts";
export { createPrincipal } from "./auth/principal.ts";
export { admits } from "./auth/roles.ts";
export type {
  EndpointConfig,
  GatewayConfig,
  GatewayConfigInput,
  ListenerConfig,
} from "./config/schema.ts";
export type {
  HttpServerConfig,
  ServerConfig,
  StdioServerConfig,
  TypedServerConfig,
} from "./config/server-schema.ts";
export { configSchema } from "./config/schema.ts";
export { HEADER_NAME, HEADER_VALUE, headersSchema } from "./config/headers.ts";
export { durationSchema, parseDuration, sizeSchema } from "./config/units.ts";
export { makeCatalogue } from "./catalogue.ts";
export { blobContent, toResult } from "./content.ts";
export { Cancellation } from "./cancellation.ts";
export type { PluginComposition } from "./host/composition.ts";
export type { GatewayDescription, GatewayWarning } from "./host/describe.ts";
export {
  ERROR_STATUS,
  GatewayError,
  isGatewayError,
  toEnvelope,
  toGatewayError,
  toProblem,
  toRpcError,
  wordsOf,
  type ErrorCode,
  type ErrorDetails,
  type ErrorEnvelope,
  type Place,
} from "./errors.ts";
export {
  createFileGateway,
  createGateway,
  Gateway,
  type FileGatewayOptions,
  type GatewayOptions,
} from "./gateway.ts";
export type { Control, ReloadPlan } from "./control.ts";
export { perGeneration, type GenerationContext } from "./per-generation.ts";
export type { ConfigEdit } from "./config/write.ts";
export type { Cut, CutReason } from "./node/backlog.ts";
export type { Changes, GatewayHooks, Mutation, ReloadReport, Shutdown } from "./hooks.ts";
export { createLogger } from "./log.ts";
export { networkFault, networkReason, sizeFault } from "./upstream/faults.ts";
export { type Child, type CloseTimes, type Exit, spawnChild } from "./upstream/child.ts";
export type { Launch } from "./upstream/launch.ts";
export { readEvents, readTypedEvents, type ServerSentEvent } from "./upstream/events.ts";
export { METRICS_CONTENT_TYPE } from "./host/metrics.ts";
export { endOf, outcomeOf, type CallEnd, type CallOutcome, type Outcome } from "./outcome.ts";
export type {
  PromptDefinition,
  ResourceContent,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolArgs,
  ToolDefinition,
  ToolReturn,
  ToolSchema,
} from "./definitions.ts";
export {
  definePlugin,
  type AnyPlugin,
  type Deadline,
  type EndpointInput,
  type Listed,
  type ListenerInput,
  type PluginContext,
  type PluginDefinition,
  type Timeouts,
  type Undo,
} from "./plugin.ts";
export type {
  Access,
  DirectAnswer,
  DirectHandler,
  DirectHead,
  DirectRequest,
  RouteEvent,
  RouteHandler,
  RouteMethod,
  RouteOptions,
} from "./route.ts";
export type { ManagedProvider, ServerType } from "./server-type.ts";
export type { Socket } from "./socket.ts";
export {
  EMPTY_CATALOGUE,
  type Catalogue,
  type ProbeReport,
  type ProbeRung,
  type Provider,
  type ProviderEvent,
  type ProviderState,
  type ProviderStatus,
} from "./provider.ts";
export { Reading, type ReadingOptions } from "./reading.ts";
export { Standing, type Circumstances, type StandingOptions } from "./standing.ts";
export {
  defineService,
  optional,
  type Inject,
  type Injected,
  type OptionalService,
  type Service,
} from "./service.ts";
export type { EvictOptions, Evicted } from "./host/evict.ts";
export type { Address } from "./host/sockets.ts";
export { STAGES, type Stage } from "./stages.ts";
export { traceOf, type TraceCarrier } from "./trace.ts";
export type {
  Call,
  CallInput,
  CallMethod,
  CallSource,
  Era,
  Identity,
  Json,
  Middleware,
  Next,
  Peer,
  Principal,
  Progress,
  Prompt,
  Resource,
  ResourceTemplate,
  Role,
  RpcError,
  RpcId,
  Tool,
} from "./types.ts";
export { RESERVED_SERVERS } from "./config/names.ts";
export { lockFile, type FileLock } from "./lock.ts";
export { amendCall } from "./host/amend.ts";
export { MAX_DELAY_MS, pause, setTicker, setTimer, timeoutSignal, within } from "./timers.ts";
export { AllowedAddresses, type Resolve } from "./addresses.ts";
export { isSameHost } from "./document-host.ts";
export {
  checkInput,
  isUnmodified,
  pathParameter,
  prefersEvents,
  readJson,
} from "./host/request.ts";
export { isObject } from "./json.ts";
export { isWithinDepth, parseJson } from "./node/json.ts";
export { LITERAL_PROGRESS } from "./types.ts";
export { matchesWildcard } from "./host/wildcard.ts";
