import { agentId, type ConnectedAgents } from "./agents/connected-agents.ts";
import type { Instances } from "./agents/instances.ts";
import type { AgentRow, InstanceRow, WorkspaceRow } from "./data/tables.ts";
import type { Workspaces } from "./agents/workspaces.ts";

/** What the picker of a workspace says while nothing is attached to it. */
export const NO_TEAMS =
  "No teams attached to this workspace. Go to workspace settings → Attached Teams.";

/** Answers of the REST, for its pages. */
export type AgentView = ReturnType<typeof toAgentView>;
export type InstanceView = ReturnType<typeof toInstanceView>;
export type WorkspaceView = Awaited<ReturnType<typeof toWorkspaceView>>;

/** An agent as the REST shows it; its health is null as long as it is not attached or was not asked. */
export function toAgentView(row: AgentRow, agents: ConnectedAgents) {
  const { instance_id: instance, server_id: server, name, title, description, icon, url } = row;
  const id = agentId(row);
  return {
    id,
    instance_id: instance,
    server_id: server,
    name,
    title: title ?? name,
    description,
    icon,
    url,
    health: agents.healthOf(id) ?? null,
  };
}

/** An instance as the REST shows it; nothing of its token but whether there is one. */
export function toInstanceView(
  row: InstanceRow,
  rows: readonly AgentRow[],
  agents: ConnectedAgents,
) {
  return {
    id: row.id,
    name: row.name,
    registry_url: row.registry_url,
    registry_read_at: row.registry_read_at,
    registry_problem: row.registry_problem,
    host_key: row.host_key === null ? "none" : "set",
    pallas_team_mnemosyne_status: row.team_status,
    team_reason: row.team_reason,
    token: row.team_jwt === null ? "none" : row.revealed_at === null ? "unseen" : "shown",
    created_at: row.created_at,
    agents: rows.map((agent) => toAgentView(agent, agents)),
  };
}

/** All of them. */
export async function toInstanceList(
  instances: Instances,
  rows: readonly InstanceRow[],
  agents: ConnectedAgents,
) {
  const ofEach = new Map<string, AgentRow[]>(rows.map(({ id }) => [id, []]));
  for (const agent of await instances.agentsOf([...ofEach.keys()]))
    ofEach.get(agent.instance_id)!.push(agent);
  return rows.map((row) => toInstanceView(row, ofEach.get(row.id)!, agents));
}

/** A workspace as the REST shows it. */
export async function toWorkspaceView(workspaces: Workspaces, row: WorkspaceRow) {
  return { ...row, teams: await workspaces.teamsOf(row.id) };
}
