import type { PluginContext } from "propylon";
import { type InstanceFaces, registerInstances } from "./instance-routes.ts";
import { registerWorkspaces, type WorkspaceFaces } from "./workspace-routes.ts";

/** The REST of the console. */
export function registerRoutes(
  gateway: PluginContext,
  faces: InstanceFaces & WorkspaceFaces,
): void {
  registerInstances(gateway, faces);
  registerWorkspaces(gateway, faces);
}
