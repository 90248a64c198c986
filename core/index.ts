export { createFileGateway, createGateway } from "./gateway/create.ts";
export type { FileGatewayOptions, GatewayOptions } from "./gateway/gateway-options.ts";
export type { GatewayDescription } from "./plugin/description.ts";
export type { Call, CallInput, Middleware, Next } from "./call/call.ts";
export { Answer } from "./call/answer.ts";
export type { Authenticate, AuthenticatorOptions, Credentials } from "./plugin/authentication.ts";
export { createPrincipal } from "./call/principal.ts";
export { admits } from "./http/guard.ts";
export {
  type ConfigSections,
  type GatewayConfig,
  type GatewayConfigInput,
  configSchema,
} from "./config/schema.ts";
export type { ServerConfig } from "./config/server-schema.ts";
export { durationSchema, sizeSchema } from "./kit/units.ts";
export { GatewayError, isGatewayError, toGatewayError, type ErrorCode } from "./kit/errors.ts";
export { Gateway } from "./gateway/gateway.ts";
export type { GatewayInfo } from "./plugin/gateway-info.ts";
export { Management } from "./plugin/management-service.ts";
export type { CoreHooks, GatewayHooks, Mutation, ReloadReport } from "./plugin/hooks.ts";
export { createLogger } from "./config/log.ts";
export type {
  Handle,
  PromptDefinition,
  ResourceDefinition,
  ResourceHandle,
  ToolArgs,
  ToolDefinition,
  ToolReturn,
  ToolSchema,
} from "./plugin/definitions.ts";
export type { CommandDefinition, CommandFlag, CommandInput } from "./plugin/command.ts";
export { definePlugin } from "./plugin/define-plugin.ts";
export type { AnyPlugin, PluginDefinition } from "./plugin/plugin.ts";
export type { PluginContext } from "./plugin/plugin-context.ts";
export type {
  Access,
  RouteEvent,
  RouteHandler,
  RouteMethod,
  RouteOptions,
} from "./plugin/route.ts";
export type { ManagedServer, ServerType } from "./call/server-type.ts";
export type { Socket } from "./plugin/route.ts";
export type { Catalogue, Server, ServerEvent, ServerState, ServerStatus } from "./call/server.ts";
export { Authenticators, Checks } from "./plugin/kernel-points.ts";
export { definePoint } from "./plugin/point.ts";
export { defineService, optional, type Inject, type Service } from "./kit/service.ts";
export { STAGES, type Stage } from "./call/stages.ts";
export type { Role } from "./kit/roles.ts";
export type {
  CallMethod,
  Era,
  Identity,
  Json,
  Peer,
  Principal,
  Progress,
  Prompt,
  Resource,
  ResourceTemplate,
  Tool,
} from "./kit/types.ts";
export type { Listed } from "./plugin/filters.ts";
