import type { PluginContext } from "propylon";
import { z } from "zod";
import { CHAT_MODULE } from "./chat-module.ts";
import { displayNameSchema } from "./instance-routes.ts";
import { MAX_URL } from "./registry-reader.ts";

/** Instances and workspaces in a web interface. */
export function registerPanels(gateway: Pick<PluginContext, "panel">): void {
  registerInstances(gateway);
  registerWorkspaces(gateway);
  registerAgents(gateway);
  gateway.panel({
    id: "chat",
    title: "Chat",
    place: "page",
    access: "caller",
    description: "Talk to the agents of a workspace, and choose its teams.",
    module: CHAT_MODULE,
  });
}

function registerInstances(gateway: Pick<PluginContext, "panel">): void {
  const head = { place: "page" } as const;
  gateway.panel({
    ...head,
    id: "instances",
    title: "Instances",
    access: "viewer",
    view: {
      table: {
        from: "GET /api/v1/instances",
        rows: "/instances",
        columns: [
          { label: "Name", value: "/name" },
          { label: "Registry", value: "/registry_url", as: "code" },
          { label: "Problem", value: "/registry_problem" },
          { label: "Read", value: "/registry_read_at", as: "time" },
          { label: "Team", value: "/pallas_team_mnemosyne_status", as: "state" },
          { label: "Reason", value: "/team_reason" },
          { label: "Token", value: "/token", as: "state" },
        ],
        actions: [
          { label: "Read again", ...onInstance("POST /api/v1/instances/:id/refresh") },
          { label: "Provision", ...onInstance("POST /api/v1/instances/:id/provision") },
          {
            label: "Rotate the token",
            ...onInstance("POST /api/v1/instances/:id/rotate"),
            access: "admin",
            confirm: "The token in use ends, and the instance needs the new one.",
          },
          {
            label: "Delete",
            ...onInstance("DELETE /api/v1/instances/:id"),
            confirm: "It is detached from every workspace, and its token ends.",
          },
        ],
        empty: "No instance is registered.",
      },
    },
  });
  gateway.panel({
    ...head,
    id: "new-instance",
    title: "Register an instance",
    access: "operator",
    view: {
      form: {
        route: "POST /api/v1/instances",
        input: z.strictObject({
          registry_url: z.string().min(1).max(MAX_URL).optional(),
          name: displayNameSchema.optional(),
        }),
        submit: "Register",
      },
    },
  });
}

function onInstance<R extends string>(route: R) {
  return { route, params: { id: "/id" }, access: "operator" } as const;
}

function registerWorkspaces(gateway: Pick<PluginContext, "panel">): void {
  gateway.panel({
    id: "workspaces",
    title: "Workspaces",
    place: "page",
    access: "viewer",
    view: {
      table: {
        from: "GET /api/v1/workspaces",
        rows: "/workspaces",
        columns: [
          { label: "Name", value: "/name" },
          { label: "Id", value: "/id", as: "code" },
          { label: "Teams", value: "/teams", as: "list" },
        ],
        actions: [
          {
            label: "Delete",
            route: "DELETE /api/v1/workspaces/:id",
            params: { id: "/id" },
            access: "operator",
            confirm: "Its teams are detached.",
          },
        ],
        empty: "There is no workspace yet.",
      },
    },
  });
}

function registerAgents(gateway: Pick<PluginContext, "panel">): void {
  gateway.panel({
    id: "agents",
    title: "Agents of teams",
    place: "page",
    access: "viewer",
    view: {
      table: {
        from: "GET /api/v1/agents",
        rows: "/agents",
        columns: [
          { label: "Agent", value: "/title" },
          { label: "Team", value: "/instance" },
          { label: "Health", value: "/health/status", as: "state" },
          { label: "Why", value: "/health/message" },
          { label: "Asked", value: "/health/checked_at", as: "time" },
          { label: "Description", value: "/description" },
        ],
        empty: "No team with agents is attached to a workspace.",
      },
    },
  });
}
