// `propylon/cli`: what commands of plugins are written with. The command line itself is in plugins/cli.ts.
export { API_KEY_FLAG, SEND_KEY_FLAG, LOG_LEVEL_FLAG, RUN_FLAGS } from "./serving.ts";
export { claudeCommand, clientName, shellWord } from "./client-hint.ts";
export { EXIT, exitCodeOf } from "./exit.ts";
export {
  type ClientFlags,
  type DescribedTarget,
  describeTarget,
  findTarget,
  timeoutOf,
} from "./target.ts";
export type { BundledCommand, BundledCommands } from "./main.ts";
export { askPlugin, askPluginLines, type PluginRequest } from "./plugin-client.ts";
export { isHttpUrl, readCount } from "./program.ts";
export type { Running, StartOptions } from "./open-gateway.ts";
export { runGateway, start } from "./start.ts";
export { transportOf } from "../gateway/check/clients.ts";
export { print, table } from "./answer-table.ts";
export { ASKING_FLAGS, operationCommands } from "./operation-command.ts";
export { choose, nearest } from "../kit/spelling.ts";
export { usableName } from "../config/names.ts";
export { freePort, isPortFree } from "../kit/port.ts";
export { childEnvironment } from "../kit/environment.ts";
