import { GatewayError, type PluginContext, type RouteEvent } from "propylon";
import { pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import type { ConnectedAgents } from "./agents/connected-agents.ts";
import type { Console } from "./console.ts";
import { hostKeySchema } from "./agents/host-keys.ts";
import { type Instances, noInstance } from "./agents/instances.ts";
import { MAX_URL } from "./registry/registry-reader.ts";
import type { ConsoleTeams } from "./console-teams.ts";
import { toInstanceList, toInstanceView } from "./view.ts";

const READ = { access: "viewer", mutates: false } as const;
const CHANGE = { access: "operator", mutates: true } as const;
const SECRET = { access: "admin", mutates: true } as const;

/** The path of the source, and the one without the name of its product. */
const PATHS = ["/api/v1/pallas", "/api/v1/instances"] as const;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** A name for people, in one line. */
export const displayNameSchema = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, "must be one line without control characters");

/** What registers an instance, as its form asks for it, too. */
export const registrationSchema = z
  .strictObject({
    registry_url: z.string().min(1).max(MAX_URL).optional().meta({
      title: "Registry",
      description:
        "Where the host is, such as http://10.1.0.7:23030. Without it: a team without agents, which needs a name.",
    }),
    name: displayNameSchema.optional().meta({
      title: "Name",
      description: "How the team is called. Default: the name of its host.",
    }),
    host_key: hostKeySchema.optional().meta({
      title: "Key of the host",
      format: "password",
      description:
        "What the host wants as a bearer token, such as the GATEWAY_KEY of the template agent-team. It is kept sealed.",
    }),
  })
  .refine(({ registry_url: url, name }) => url !== undefined || name !== undefined, {
    message: "name is required without registry_url",
  });

const keySchema = z.strictObject({ host_key: hostKeySchema.nullable() });

/** What the routes work with. */
export interface InstanceFaces {
  readonly desk: Console;
  readonly instances: Instances;
  readonly agents: ConnectedAgents;
  readonly teams: ConsoleTeams | undefined;
}

/** Instances: registering, looking, deleting, and their tokens. */
export function registerInstances(gateway: PluginContext, faces: InstanceFaces): void {
  for (const path of PATHS) {
    registerAll(gateway, path, faces);
    registerOne(gateway, path, faces);
    registerTeam(gateway, path, faces);
  }
}

function registerAll(gateway: PluginContext, path: string, faces: InstanceFaces) {
  const { desk, instances, agents } = faces;
  gateway.route("GET", path, READ, async () => ({
    instances: await toInstanceList(instances, await instances.list(), agents),
  }));
  gateway.route("POST", path, CHANGE, async (event) => {
    const { registry_url: url, name, host_key: key } = await readJson(event, registrationSchema);
    event.context.target = { ...(name !== undefined && { name }) };
    const id = await desk.register({ url, name, key });
    event.context.target = { instance: id };
    return Response.json(await viewOf(faces, id), {
      status: 201,
      headers: { location: `${path}/${id}` },
    });
  });
}

function registerOne(gateway: PluginContext, path: string, faces: InstanceFaces) {
  const { desk, instances } = faces;
  gateway.route("GET", `${path}/:id`, READ, (event) => viewOf(faces, instanceIdOf(event)));
  gateway.route("DELETE", `${path}/:id`, CHANGE, async (event) => {
    if (!(await desk.delete(instanceIdOf(event)))) throw noInstance();
    return new Response(null, { status: 204 });
  });
  gateway.route("PUT", `${path}/:id/host-key`, CHANGE, async (event) => {
    const { host_key: key } = await readJson(event, keySchema);
    const { id } = await instances.get(instanceIdOf(event));
    await desk.setHostKey(id, key);
    return viewOf(faces, id);
  });
  gateway.route("POST", `${path}/:id/refresh`, CHANGE, async (event) => {
    const { id } = await instances.get(instanceIdOf(event));
    await desk.refresh(id);
    return viewOf(faces, id);
  });
}

function registerTeam(gateway: PluginContext, path: string, faces: InstanceFaces) {
  const { instances, teams } = faces;
  gateway.route("POST", `${path}/:id/provision`, CHANGE, async (event) => {
    const { id } = await instances.get(instanceIdOf(event));
    await withIssuer(teams).sync(id);
    return viewOf(faces, id);
  });
  gateway.route("POST", `${path}/:id/rotate`, SECRET, async (event) => {
    const { id } = await instances.get(instanceIdOf(event));
    await withIssuer(teams).rotate(id);
    return viewOf(faces, id);
  });
  gateway.route("POST", `${path}/:id/reveal`, SECRET, async (event) => {
    const { id } = await instances.get(instanceIdOf(event));
    const jwt = await withIssuer(teams).reveal(id);
    return Response.json({ id, jwt }, { headers: { "cache-control": "no-store" } });
  });
}

async function viewOf({ instances, agents }: InstanceFaces, id: string) {
  const [row, rows] = await Promise.all([instances.get(id), instances.agentsOf([id])]);
  return toInstanceView(row, rows, agents);
}

/** Whatever is not an id that we made is unknown, and gets to no database. */
export function instanceIdOf(event: RouteEvent, parameter = "id"): string {
  const id = pathParameter(event, parameter);
  if (UUID.test(id)) return id;
  throw noInstance();
}

function withIssuer(teams: ConsoleTeams | undefined): ConsoleTeams {
  if (teams) return teams;
  throw new GatewayError("invalid", "This console has no issuer.", {
    hint: "Set plugins.console.issuer in the config.",
  });
}
