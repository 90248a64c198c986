export { createFileGateway, createGateway } from "./gateway/create.ts";
export { type FileGatewayOptions, type GatewayOptions } from "./gateway/options.ts";
export type { EvictOptions, Evicted } from "./plugin/control.ts";
export type { GatewayDescription, GatewayWarning } from "./plugin/description.ts";
export type { Call, CallInput, Middleware, Next } from "./call/call.ts";
export { Answer, type RawMessage } from "./call/answer.ts";
export type { Authenticate, AuthenticatorOptions, Credentials } from "./http/auth/types.ts";
export { createPrincipal } from "./http/auth/principal.ts";
export { admits } from "./http/auth/roles.ts";
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
export { makeCatalogue } from "./server/catalogue.ts";
export { blobContent, toResult } from "./call/content.ts";
export { Cancellation } from "./call/cancellation.ts";
export type { PluginComposition } from "./gateway/composition.ts";
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
export { Gateway } from "./gateway/gateway.ts";
export type { Control, ReloadPlan } from "./plugin/control.ts";
export { perGeneration, type GenerationContext } from "./gateway/per-generation.ts";
export type { ConfigEdit } from "./config/write.ts";
export type { Cut, CutReason } from "./http/backlog.ts";
export type {
  Changes,
  CoreHooks,
  GatewayHooks,
  Mutation,
  PluginHook,
  ReloadReport,
  Shutdown,
} from "./plugin/hooks.ts";
export { createLogger } from "./log.ts";
export { networkFault, networkReason, sizeFault } from "./servers/faults.ts";
export { type Child, type CloseTimes, type Exit, spawnChild } from "./process/child.ts";
export type { Launch } from "./process/launch.ts";
export { readEvents, readTypedEvents, type ServerSentEvent } from "./servers/events.ts";
export { METRICS_CONTENT_TYPE } from "./plugin/metrics.ts";
export { endOf, outcomeOf, type CallEnd, type CallOutcome, type Outcome } from "./call/outcome.ts";
export type {
  PromptDefinition,
  ResourceContent,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolArgs,
  ToolDefinition,
  ToolReturn,
  ToolSchema,
} from "./plugin/definitions.ts";
export type { CommandDefinition, CommandFlag, CommandInput } from "./plugin/command.ts";
export {
  definePlugin,
  type AnyPlugin,
  type EndpointInput,
  type ListenerInput,
  type PluginContext,
  type PluginDefinition,
  type Undo,
} from "./plugin/plugin.ts";
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
} from "./http/route.ts";
export type { ManagedServer, ServerType } from "./server/server-type.ts";
export type { Socket } from "./http/socket.ts";
export {
  EMPTY_CATALOGUE,
  type Catalogue,
  type ProbeReport,
  type ProbeRung,
  type Server,
  type ServerEvent,
  type ServerState,
  type ServerStatus,
} from "./server/server.ts";
export { Refresher, type RefresherOptions } from "./server/refresher.ts";
export { StatusTracker, type StatusDetails, type StatusTrackerOptions } from "./server/status.ts";
export {
  defineService,
  optional,
  type Inject,
  type Injected,
  type OptionalService,
  type Service,
} from "./plugin/service.ts";
export type { Address } from "./http/listeners.ts";
export { STAGES, type Stage } from "./call/stages.ts";
export { traceOf, type TraceCarrier } from "./trace.ts";
export type {
  CallMethod,
  CallSource,
  Era,
  Identity,
  Json,
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
} from "./call/types.ts";
export { RESERVED_SERVERS } from "./config/names.ts";
export { lockFile, type FileLock } from "./kit/lock.ts";
export type { Deadline, Timeouts } from "./call/deadline.ts";
export type { Listed } from "./plugin/filters.ts";
export { amendCall } from "./call/amend.ts";
export { MAX_DELAY_MS, pause, setTicker, setTimer, timeoutSignal, within } from "./timers.ts";
export { AllowedAddresses, type Resolve } from "./kit/addresses.ts";
export { isSameHost } from "./kit/document-host.ts";
export {
  checkInput,
  isUnmodified,
  pathParameter,
  prefersEvents,
  readJson,
} from "./http/request.ts";
export { isObject } from "./kit/json.ts";
export { isWithinDepth, parseJson } from "./kit/parse-json.ts";
export { LITERAL_PROGRESS } from "./call/types.ts";
export { matchesWildcard } from "./kit/wildcard.ts";
