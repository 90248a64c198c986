import type { PluginContext, RouteEvent } from "propylon";
import { admits, pathParameter, readJson } from "propylon/kit";
import type { Store } from "propylon/store";
import { authorOf } from "./asker.ts";
import type { Ended } from "../directory/changes.ts";
import { Idempotency, KNOWN_FOR_MS, type KnownRequest } from "./idempotency.ts";
import { TEAMS } from "../operations/team-operations.ts";
import type { LoggedTeams } from "./team-log.ts";
import type { TeamDetails } from "../directory/teams.ts";

/** Below it consoles are served. */
export const CONSOLES = "/mcp_server/api/";
const PATH = `${CONSOLES}teams`;
const READ = { access: "service", mutates: false } as const;
const CHANGE = { access: "service", mutates: true } as const;

/** What consoles know of a team: what operators add is not theirs to say. */
const teamSchema = TEAMS.create.input.pick({ id: true, name: true });

/** What the REST of the consoles stands on. */
export interface RestParts {
  readonly teams: LoggedTeams;
  /** Whether each service account sees its own teams alone. */
  readonly ownership: boolean;
  readonly store: Store;
}

/** The interface for the consoles that run teams. Paths end with a slash or without: a redirect would lose bodies and credentials. */
export function registerRest(gateway: PluginContext, { teams, ownership, store }: RestParts): void {
  const known = store.kv<KnownRequest>("idempotency", { ttl: KNOWN_FOR_MS });
  const idempotency = new Idempotency(known);
  const ownerOf = ({ context: { principal } }: RouteEvent): string | undefined =>
    ownership && !admits(principal, "admin") ? principal.ref : undefined;
  const idOf = (event: RouteEvent): string => pathParameter(event, "id");

  gateway.route("POST", PATH, CHANGE, async (event) => {
    const body = await readJson(event, teamSchema);
    event.context.target = { team: body.id };
    const owner = ownerOf(event);
    const create = async (): Promise<Response> => {
      const { value, ended } = await teams.create(authorOf(event), { ...body, owner });
      const { team, jwt } = value;
      if (jwt === undefined) return reply(200, summary(team), ended);
      return reply(201, { id: team.id, name: team.name, jwt }, ended);
    };
    return idempotency.run(event, body, create, async (status) =>
      reply(status, summary(await teams.get(body.id, owner))),
    );
  });
  gateway.route("GET", `${PATH}/:id`, READ, async (event) =>
    detail(await teams.get(idOf(event), ownerOf(event))),
  );
  gateway.route("DELETE", `${PATH}/:id`, CHANGE, async (event) => {
    const { ended } = await teams.deactivate(authorOf(event), idOf(event), ownerOf(event));
    return reply(204, undefined, ended);
  });
  gateway.route("PUT", `${PATH}/:id/workspaces`, CHANGE, async (event) => {
    const { workspace_ids: wanted } = await readJson(event, TEAMS.workspaces.input);
    const author = authorOf(event);
    const { ended } = await teams.setWorkspaces(author, idOf(event), wanted, ownerOf(event));
    return reply(200, { workspace_ids: wanted }, ended);
  });
  gateway.route("POST", `${PATH}/:id/rotate`, CHANGE, (event) => {
    const id = idOf(event);
    const owner = ownerOf(event);
    const rotate = async (): Promise<Response> => {
      const { value, ended } = await teams.rotate(authorOf(event), id, { owner });
      return reply(200, { jwt: value.jwt }, ended);
    };
    return idempotency.run(event, id, rotate, async (status) =>
      reply(status, summary(await teams.get(id, owner))),
    );
  });
}

function summary({ id, name, active }: TeamDetails): object {
  return { id, name, active };
}

function detail({ id, name, active, active_jti, workspaces }: TeamDetails): object {
  return { id, name, active, active_jti, workspace_ids: workspaces };
}

/** What a change ended stands in a header: bodies are those that consoles know. */
function reply(status: number, body: object | undefined, ended?: Ended): Response {
  const headers = {
    "cache-control": "no-store",
    ...(ended && {
      "propylon-ended": Object.entries(ended)
        .map(([what, count]) => `${what}=${count}`)
        .join(", "),
    }),
  };
  return body === undefined
    ? new Response(null, { status, headers })
    : Response.json(body, { status, headers });
}
