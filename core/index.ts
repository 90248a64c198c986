// A plugin
export { definePlugin } from "./plugin/define-plugin.ts";
export type { PluginDefinition, AnyPlugin } from "./plugin/plugin.ts";
export type { PluginContext } from "./plugin/plugin-context.ts";

// Its options
export { durationSchema, sizeSchema } from "./kit/units.ts";

// Services between plugins
export { defineService, optional, type Inject, type Service } from "./kit/service.ts";

// Tools, resources and prompts
export type {
  ToolDefinition,
  ToolSchema,
  ToolArgs,
  ToolReturn,
  ResourceDefinition,
  ResourceHandle,
  PromptDefinition,
  Handle,
} from "./plugin/definitions.ts";

// Calls
export type { Call, CallInput, Middleware, Next } from "./call/call.ts";
export type { CallMethod, Progress, Peer, Json } from "./kit/types.ts";
export { Answer } from "./call/answer.ts";
export { STAGES, type Stage } from "./call/stages.ts";

// Who calls
export type { Principal, Identity } from "./kit/types.ts";
export type { Role } from "./kit/roles.ts";

// Routes
export type {
  RouteHandler,
  RouteEvent,
  RouteMethod,
  RouteOptions,
  Access,
  Socket,
} from "./plugin/route.ts";

// What administers a plugin
export { operation } from "./http/operation-route.ts";
export type { Operation } from "./plugin/operation.ts";

// Servers and what they list
export type { Server, ServerState, ServerStatus, Catalogue } from "./call/server.ts";
export type { Tool, Prompt, Resource, ResourceTemplate } from "./kit/types.ts";

// Hooks
export type { GatewayHooks, Mutation, ReloadReport } from "./plugin/hooks.ts";

// Commands
export type { CommandDefinition, CommandFlag, CommandInput } from "./plugin/command.ts";

// Errors
export { GatewayError, isGatewayError, toGatewayError, type ErrorCode } from "./kit/errors.ts";

// The gateway, as a plugin sees it
export type { GatewayInfo } from "./plugin/gateway-info.ts";
export type { GatewayDescription } from "./plugin/description.ts";

// A gateway in a program
export { createGateway } from "./gateway/management/create.ts";
export { createFileGateway, type FileGatewayOptions } from "./file/create-file-gateway.ts";
export type { GatewayOptions } from "./gateway/gateway-options.ts";
export { Gateway } from "./gateway/gateway.ts";
export {
  type GatewayConfig,
  type GatewayConfigInput,
  type ConfigSections,
  configSchema,
} from "./config/schema.ts";
export { createLogger } from "./config/log.ts";
