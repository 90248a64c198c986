import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import type { GatewayError } from "../../../core/index.ts";
import type { TeamDetails } from "../../../plugins/team-auth/teams.ts";
import { startIssuer } from "../../plugins/team-auth/gateway-kit.ts";

const REQUESTS = Number(process.env["ISOLATION_REQUESTS"] ?? 1_000);
const OWNERS = ["console-a", "console-b"] as const;
const TEAMS = 8;

const pick = <T>(items: readonly T[]): T => items[randomInt(items.length)]!;

/** What an account was told: the value without what differs between any two teams, or the error. */
async function outcomeOf(work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
    return "done";
  } catch (error) {
    const { code, message, hint, data } = error as GatewayError;
    return { code, message, hint, data };
  }
}

it(
  `T178: ${REQUESTS} requests of two accounts: each reaches its own teams, and another's is like one that is not there`,
  { timeout: 600_000 },
  async () => {
    const { issuer, sees } = await startIssuer();
    const { teams, libraries } = issuer.directory;
    const own = new Map<string, string[]>(OWNERS.map((owner) => [owner, []]));
    const jwts = new Map<string, string>();
    for (const owner of OWNERS) {
      await libraries.create({ actor: owner }, { uid: `lib-${owner}`, workspaceId: `ws-${owner}` });
      for (let left = TEAMS; left > 0; left--) {
        const id = crypto.randomUUID();
        const { value } = await teams.create({ actor: owner }, { id, name: owner, owner });
        await teams.setWorkspaces({ actor: owner }, id, [`ws-${owner}`], owner);
        own.get(owner)!.push(id);
        jwts.set(id, value.jwt!);
      }
    }
    const requests: Readonly<Record<string, (owner: string, id: string) => Promise<unknown>>> = {
      get: (owner, id) => teams.get(id, owner),
      list: async (owner) => {
        const foreign = (await teams.list(owner)).filter(
          (team: TeamDetails) => team.owner !== owner,
        );
        if (foreign.length > 0) throw new Error("a team of another was listed");
      },
      workspaces: (owner, id) => teams.setWorkspaces({ actor: owner }, id, [`ws-${owner}`], owner),
      pause: (owner, id) => teams.setWorkspaces({ actor: owner }, id, [], owner),
      rename: (owner, id) => teams.rename({ actor: owner }, id, `${owner} ${randomInt(9)}`, owner),
      rotate: async (owner, id) =>
        jwts.set(id, (await teams.rotate({ actor: owner }, id, { owner })).value.jwt),
      deactivate: (owner, id) => teams.deactivate({ actor: owner }, id, owner),
      reactivate: (owner, id) => teams.reactivate({ actor: owner }, id, owner),
    };
    const differences: string[] = [];
    for (let left = REQUESTS; left > 0; left--) {
      const owner = pick(OWNERS);
      const target = pick(OWNERS);
      const id = pick(own.get(target)!);
      const [name, send] = pick(Object.entries(requests));
      const got = await outcomeOf(() => send(owner, id));
      const isReachable = owner === target || name === "list";
      const wanted = isReachable ? "done" : await outcomeOf(() => send(owner, crypto.randomUUID()));
      if (JSON.stringify(got) !== JSON.stringify(wanted))
        differences.push(`${name}: ${JSON.stringify(got)}`);
      const [team, jwt] = pick([...jwts]);
      const of = own.get("console-a")!.includes(team) ? "console-a" : "console-b";
      const seen = JSON.stringify(await sees(jwt));
      if (![`["lib-${of}"]`, "[]", '"401 Token has been deactivated."'].includes(seen))
        differences.push(`${of} saw ${seen}`);
    }
    expect(differences.slice(0, 10)).toEqual([]);
    const owners = await issuer.directory.db
      .selectFrom("team")
      .select(["id", "owner", "name"])
      .execute();
    for (const { id, owner, name } of owners) {
      expect(own.get(owner!)).toContain(id);
      expect(name.startsWith(owner!)).toBe(true);
    }
  },
);
