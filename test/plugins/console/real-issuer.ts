import type { Server } from "node:http";
import {
  makeAccounts,
  PASSWORD,
  type RunningIssuer,
  startIssuer as startTeamAuth,
} from "../team-auth/issuer.ts";
import {
  FaultyIssuer,
  type IssuedTeam,
  type IssuerAnswer,
  listen,
  type Received,
} from "./scripted-issuer.ts";

const ACCOUNT = "daedalus-service";

interface Detail {
  readonly id: string;
  readonly active: boolean;
  readonly active_jti: string | null;
  readonly workspace_ids: readonly string[];
}

/** The plugin team-auth of another gateway, whose requests go wrong on their way. */
class RealIssuer extends FaultyIssuer {
  override account = `${ACCOUNT}:${PASSWORD}`;
  readonly #gateway: RunningIssuer;
  /** Teams that it was asked to make. */
  readonly #asked = new Set<string>();

  constructor(server: Server, gateway: RunningIssuer) {
    super(server);
    this.#gateway = gateway;
  }

  async active(): Promise<readonly IssuedTeam[]> {
    const all = await Promise.all([...this.#asked].map((id) => this.#read(id)));
    return all
      .filter((team) => team?.active === true)
      .map((team) => ({ id: team!.id, jti: team!.active_jti, workspaces: team!.workspace_ids }));
  }

  async isActive(team: string): Promise<boolean> {
    return (await this.#read(team))?.active === true;
  }

  async clear(): Promise<void> {
    for (const { id } of await this.active())
      await this.#gateway.send("DELETE", `/mcp_server/api/teams/${id}/`, { account: ACCOUNT });
    this.#asked.clear();
  }

  protected async commit({ method, path, team, body }: Received): Promise<IssuerAnswer> {
    const isRotation = path.endsWith("/rotate/");
    if (method === "POST" && !isRotation) this.#asked.add(String(body["id"]));
    const sent = { account: ACCOUNT, ...(method !== "GET" && { body }) };
    const reply = await this.#gateway.send(method, path, sent);
    if (isRotation && reply.status === 200) this.noteRotation(team);
    return [reply.status, reply.status === 204 ? undefined : reply.body];
  }

  async #read(id: string): Promise<Detail | undefined> {
    const path = `/mcp_server/api/teams/${id}/`;
    const { status, body } = await this.#gateway.send("GET", path, { account: ACCOUNT });
    return status === 200 ? (body as Detail) : undefined;
  }
}

/** Starts one that ends with the running test. */
export async function startRealIssuer(): Promise<FaultyIssuer> {
  const gateway = await startTeamAuth();
  await makeAccounts(gateway, ACCOUNT);
  return new RealIssuer(await listen(), gateway);
}
