import type { PluginContext } from "propylon";
import { type AgentFaces, registerAgents } from "./agent-routes.ts";
import { type ChatFaces, registerChat } from "./chat-routes.ts";
import { type InstanceFaces, registerInstances } from "./instance-routes.ts";
import { registerWorkspaces, type WorkspaceFaces } from "./workspace-routes.ts";

/** The REST of the console. */
export function registerRoutes(
  gateway: PluginContext,
  faces: InstanceFaces & WorkspaceFaces & AgentFaces & ChatFaces,
): void {
  registerInstances(gateway, faces);
  registerWorkspaces(gateway, faces);
  registerAgents(gateway, faces);
  registerChat(gateway, faces);
}
