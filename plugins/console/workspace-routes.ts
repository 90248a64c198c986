import { randomUUID } from "node:crypto";
import type { PluginContext, RouteEvent } from "propylon";
import { pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import type { ConnectedAgents } from "./agents/connected-agents.ts";
import type { Console } from "./console.ts";
import { instanceIdOf, displayNameSchema } from "./instance-routes.ts";
import type { Instances } from "./agents/instances.ts";
import { NO_TEAMS, toAgentView, toWorkspaceView } from "./view.ts";
import { noWorkspace, type Workspaces } from "./agents/workspaces.ts";

const READ = { access: "viewer", mutates: false } as const;
const CHANGE = { access: "operator", mutates: true } as const;
const PATH = "/api/v1/workspaces";
const ID = /^[\w.:-]{1,64}$/;

/** What makes a workspace, as its form asks for it, too. Other systems may have made the id. */
export const creationSchema = z.strictObject({
  id: z.string().regex(ID, "must be 1 to 64 letters, digits, _, -, . and :").optional().meta({
    title: "Id",
    description: "How other systems call it, such as ws_work. Default: one is made up.",
  }),
  name: displayNameSchema.meta({ title: "Name", description: "How people call it." }),
});
const teamsSchema = z.strictObject({ teams: z.array(z.uuid()).max(1_000) });

/** Answer of `GET /api/v1/workspaces/:id/agents`. */
export type PickerView = Awaited<ReturnType<typeof pickerOf>>;

/** What the routes work with. */
export interface WorkspaceFaces {
  readonly desk: Console;
  readonly instances: Instances;
  readonly agents: ConnectedAgents;
  readonly workspaces: Workspaces;
}

/** Workspaces, what is attached to them, and the agents to choose from. */
export function registerWorkspaces(gateway: PluginContext, faces: WorkspaceFaces): void {
  registerAll(gateway, faces);
  registerOne(gateway, faces);
  registerTeams(gateway, faces);
}

function registerAll(gateway: PluginContext, { workspaces, instances }: WorkspaceFaces): void {
  gateway.route("GET", PATH, READ, async () => {
    const [rows, attached] = await Promise.all([workspaces.list(), workspaces.teams()]);
    const names = await instances.namesOf([...new Set([...attached.values()].flat())]);
    const shown = rows.map((row) => {
      const teams = attached.get(row.id) ?? [];
      return { ...row, teams, team_names: teams.map((id) => names.get(id) ?? id) };
    });
    return { workspaces: shown };
  });
  gateway.route("POST", PATH, CHANGE, async (event) => {
    const { id = `ws_${randomUUID()}`, name } = await readJson(event, creationSchema);
    event.context.target = { workspace: id };
    await workspaces.create(id, name);
    return Response.json(await toWorkspaceView(workspaces, await workspaces.get(id)), {
      status: 201,
      headers: { location: `${PATH}/${encodeURIComponent(id)}` },
    });
  });
}

function registerOne(
  gateway: PluginContext,
  { desk, workspaces, instances, agents }: WorkspaceFaces,
): void {
  gateway.route("GET", `${PATH}/:id`, READ, async (event) =>
    toWorkspaceView(workspaces, await workspaces.get(workspaceOf(event))),
  );
  gateway.route("DELETE", `${PATH}/:id`, CHANGE, async (event) => {
    if (!(await desk.deleteWorkspace(workspaceOf(event)))) throw noWorkspace();
    return new Response(null, { status: 204 });
  });
  gateway.route("GET", `${PATH}/:id/agents`, READ, async (event) => {
    const { id } = await workspaces.get(workspaceOf(event));
    return pickerOf(await workspaces.teamsOf(id), instances, agents);
  });
}

function registerTeams(gateway: PluginContext, { desk, workspaces }: WorkspaceFaces): void {
  const answer = async (id: string, inForce: boolean) => ({
    ...(await toWorkspaceView(workspaces, await workspaces.get(id))),
    in_force: inForce,
  });
  gateway.route("PUT", `${PATH}/:id/teams`, CHANGE, async (event) => {
    const { id } = await workspaces.get(workspaceOf(event));
    const { teams } = await readJson(event, teamsSchema);
    return answer(id, await desk.replaceTeams(id, [...new Set(teams)]));
  });
  gateway.route("PUT", `${PATH}/:id/teams/:instance`, CHANGE, async (event) => {
    const { id } = await workspaces.get(workspaceOf(event));
    return answer(id, await desk.attach(id, instanceIdOf(event, "instance")));
  });
  gateway.route("DELETE", `${PATH}/:id/teams/:instance`, CHANGE, async (event) => {
    const { id } = await workspaces.get(workspaceOf(event));
    return answer(id, await desk.detach(id, instanceIdOf(event, "instance")));
  });
}

/** The agents of the attached teams, as the picker of a chat shows them. */
async function pickerOf(teams: readonly string[], instances: Instances, agents: ConnectedAgents) {
  const [names, rows] = await Promise.all([instances.namesOf(teams), instances.agentsOf(teams)]);
  const shown = rows.map((row) => {
    const agent = toAgentView(row, agents);
    return { ...agent, label: `${names.get(agent.instance_id) ?? ""} › ${agent.title}` };
  });
  const order = new Map(teams.map((id, at) => [id, at]));
  return {
    agents: shown.toSorted((a, b) => order.get(a.instance_id)! - order.get(b.instance_id)!),
    ...(teams.length === 0 && { message: NO_TEAMS }),
  };
}

/** Whatever cannot be an id is unknown, and gets to no database. */
export function workspaceOf(event: RouteEvent): string {
  const id = pathParameter(event, "id");
  if (ID.test(id)) return id;
  throw noWorkspace();
}
