import { Panels } from "propylon/panels";
import type { PluginContext } from "propylon";
import { chat } from "#console/panels";
import { registrationSchema } from "./instance-routes.ts";
import type { ConsoleOptions } from "./options.ts";
import { creationSchema } from "./workspace-routes.ts";

type Gateway = Pick<PluginContext<ConsoleOptions>, "add" | "config">;

/** Instances, workspaces, agents and the chat in a web interface. */
export function registerPanels(gateway: Gateway): void {
  registerInstances(gateway, gateway.config.issuer !== undefined);
  registerNewInstance(gateway);
  registerWorkspaces(gateway);
  registerNewWorkspace(gateway);
  registerAgents(gateway);
  gateway.add(Panels, {
    id: "chat",
    title: "Chat",
    place: "page",
    access: "caller",
    description: "Talk to the agents of a workspace, and choose its teams.",
    module: chat,
  });
}

/** What only an issuer knows or does. */
const TEAM_COLUMNS = [
  { label: "Team", value: "/pallas_team_mnemosyne_status", as: "state" },
  { label: "Reason", value: "/team_reason" },
  { label: "Token", value: "/token", as: "state" },
] as const;
const TEAM_ACTIONS = [
  { label: "Ask the issuer now", ...onInstance("POST /api/v1/instances/:id/provision") },
  {
    label: "Show the token",
    ...onInstance("POST /api/v1/instances/:id/reveal"),
    access: "admin",
    when: { "/token": ["unseen"] },
    confirm: "The token is shown this once, and the log says to whom.",
    secret: "/jwt",
  },
  {
    label: "Rotate the token",
    ...onInstance("POST /api/v1/instances/:id/rotate"),
    access: "admin",
    when: { "/token": ["unseen", "shown"] },
    confirm: "The token in use ends, and the instance needs the new one.",
  },
] as const;

function registerInstances(gateway: Gateway, hasIssuer: boolean): void {
  gateway.add(Panels, {
    id: "instances",
    title: "Instances",
    place: "page",
    access: "viewer",
    description: "Hosts of agents. Each is a team that can be attached to workspaces.",
    view: {
      table: {
        from: "GET /api/v1/instances",
        rows: "/instances",
        live: "console",
        columns: [
          { label: "Name", value: "/name" },
          { label: "Registry", value: "/registry_url", as: "code" },
          { label: "Problem", value: "/registry_problem" },
          { label: "Registry read", value: "/registry_read_at", as: "time" },
          ...(hasIssuer ? TEAM_COLUMNS : []),
        ],
        actions: [
          { label: "Refresh", ...onInstance("POST /api/v1/instances/:id/refresh") },
          ...(hasIssuer ? TEAM_ACTIONS : []),
          {
            label: "Delete",
            ...onInstance("DELETE /api/v1/instances/:id"),
            confirm: "It is detached from every workspace, and its token ends.",
          },
        ],
        empty: "No instance is registered. Register an instance says how.",
      },
    },
  });
}

function onInstance<R extends string>(route: R) {
  return { route, params: { id: "/id" }, access: "operator" } as const;
}

function registerNewInstance(gateway: Gateway): void {
  gateway.add(Panels, {
    id: "new-instance",
    title: "Register an instance",
    place: "page",
    access: "operator",
    description: "Its registry is read at once, and its agents are found there.",
    view: {
      form: {
        route: "POST /api/v1/instances",
        input: registrationSchema,
        submit: "Register",
        done: "Instance registered.",
      },
    },
  });
}

function registerWorkspaces(gateway: Gateway): void {
  gateway.add(Panels, {
    id: "workspaces",
    title: "Workspaces",
    place: "page",
    access: "viewer",
    description: "Teams are attached to a workspace on the page Chat, below Workspace settings.",
    view: {
      table: {
        from: "GET /api/v1/workspaces",
        rows: "/workspaces",
        live: "console",
        columns: [
          { label: "Name", value: "/name" },
          { label: "Id", value: "/id", as: "code" },
          { label: "Teams", value: "/team_names", as: "list" },
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
        empty: "There is no workspace yet. New workspace makes one.",
      },
    },
  });
}

function registerNewWorkspace(gateway: Gateway): void {
  gateway.add(Panels, {
    id: "new-workspace",
    title: "New workspace",
    place: "page",
    access: "operator",
    view: {
      form: {
        route: "POST /api/v1/workspaces",
        // A form begins with what it needs.
        input: creationSchema.pick({ name: true, id: true }),
        submit: "Create",
        done: "Workspace created.",
      },
    },
  });
}

function registerAgents(gateway: Gateway): void {
  gateway.add(Panels, {
    id: "agents",
    title: "Agents of teams",
    place: "page",
    access: "viewer",
    description: "The health of the agents of all attached teams.",
    view: {
      table: {
        from: "GET /api/v1/agents",
        rows: "/agents",
        live: "console",
        columns: [
          { label: "Agent", value: "/title" },
          { label: "Team", value: "/instance" },
          { label: "Health", value: "/health/status", as: "state" },
          { label: "Why", value: "/health/message" },
          { label: "Asked at", value: "/health/checked_at", as: "time" },
          { label: "Description", value: "/description" },
        ],
        empty: "No team with agents is attached to a workspace.",
      },
    },
  });
}
