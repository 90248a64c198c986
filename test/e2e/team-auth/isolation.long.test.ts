import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { definePlugin } from "propylon";
import { Libraries } from "propylon/plugins/team-auth";
import {
  makeAccounts,
  type Received,
  type RunningIssuer,
  startIssuer,
} from "../../plugins/team-auth/issuer.ts";

const REQUESTS = Number(process.env["ISOLATION_REQUESTS"] ?? 300);
const AT_ONCE = 4;
const OWNERS = ["console-a", "console-b"] as const;
const TEAMS = 8;
const PATH = "/mcp_server/api/teams";

type Owner = (typeof OWNERS)[number];
const pick = <T>(items: readonly T[]): T => items[randomInt(items.length)]!;

const reader = definePlugin({
  name: "reader",
  inject: { libraries: Libraries },
  setup(gateway) {
    const { libraries } = gateway.services;
    gateway.route("GET", "/sees", { access: "caller", mutates: false }, (event) =>
      libraries.of(event.context.principal),
    );
  },
});

/** What an account is told: status, headers and body, without what differs between any two answers. */
function told({ status, headers, body }: Received): string {
  const shown = [...headers].filter(([name]) => !/^(?:date|x-request-id)$/.test(name));
  return JSON.stringify([status, shown, body]);
}

/** A request of a console about a team. */
type Ask = (issuer: RunningIssuer, account: Owner, id: string) => Promise<Received>;

const REQUESTS_OF: Readonly<Record<string, Ask>> = {
  get: ({ send }, account, id) => send("GET", `${PATH}/${id}/`, { account }),
  attach: ({ send }, account, id) =>
    send("PUT", `${PATH}/${id}/workspaces/`, {
      account,
      body: { workspace_ids: [`ws-${account}`] },
    }),
  detach: ({ send }, account, id) =>
    send("PUT", `${PATH}/${id}/workspaces`, { account, body: { workspace_ids: [] } }),
  "attach what cannot be": ({ send }, account, id) =>
    send("PUT", `${PATH}/${id}/workspaces`, { account, body: { workspace_ids: [7] } }),
  rotate: ({ send }, account, id) => send("POST", `${PATH}/${id}/rotate/`, { account }),
  delete: ({ send }, account, id) => send("DELETE", `${PATH}/${id}/`, { account }),
  unknown: ({ send }, account, id) => send("POST", `${PATH}/${id}/reactivate/`, { account }),
};

it(
  `T178: ${REQUESTS} requests of two consoles: each reaches its own teams, and another's is like one that is not there`,
  { timeout: 900_000 },
  async () => {
    const issuer = await startIssuer({ teams: { ownership: true } }, { plugins: [reader] });
    const { send, admin } = issuer;
    await makeAccounts(issuer, ...OWNERS);
    const own = new Map<Owner, string[]>(OWNERS.map((owner) => [owner, []]));
    const jwts = new Map<string, string>();
    for (const account of OWNERS) {
      const library = { uid: `lib-${account}`, workspace_id: `ws-${account}` };
      expect((await admin("POST", "/libraries", { body: library })).status).toBe(201);
      for (let left = TEAMS; left > 0; left--) {
        const id = crypto.randomUUID();
        const made = await send("POST", PATH, { account, body: { id, name: account } });
        expect(made.status).toBe(201);
        own.get(account)!.push(id);
        jwts.set(id, (made.body as { jwt: string }).jwt);
      }
    }
    const differences: string[] = [];
    const counts = { own: 0, foreign: 0, seen: 0 };
    const askAbout = async (account: Owner): Promise<void> => {
      const target = pick(OWNERS);
      const id = pick(own.get(target)!);
      const [name, ask] = pick(Object.entries(REQUESTS_OF));
      const got = await ask(issuer, account, id);
      if (account !== target) {
        counts.foreign++;
        const absent = told(await ask(issuer, account, crypto.randomUUID()));
        if (told(got) !== absent) differences.push(`${name}: ${told(got)}, not ${absent}`);
      } else if (name !== "unknown" && name !== "attach what cannot be") {
        counts.own++;
        if (![200, 204].includes(got.status)) differences.push(`${name} of its own: ${told(got)}`);
        if (name === "rotate") jwts.set(id, (got.body as { jwt: string }).jwt);
      }
    };
    /** Somebody deletes teams; an admin brings them back, so that there is something to see. */
    const look = async (): Promise<void> => {
      const owner = pick(OWNERS);
      const id = pick(own.get(owner)!);
      await admin("POST", `/teams/${id}/reactivate`);
      const { status, body } = await send("GET", "/sees", { bearer: jwts.get(id)! });
      if (status === 401) return;
      counts.seen++;
      if (!["[]", `["lib-${owner}"]`].includes(JSON.stringify(body)))
        differences.push(`${owner} saw ${JSON.stringify(body)}`);
    };
    let left = REQUESTS;
    const work = async (): Promise<void> => {
      while (left-- > 0) {
        await askAbout(pick(OWNERS));
        if (left % 5 === 0) await look();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    process.stdout.write(`${JSON.stringify(counts)}\n`);
    expect(differences.slice(0, 10)).toEqual([]);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(REQUESTS / 20);
    const { body } = await admin("GET", "/teams");
    const { teams } = body as { teams: { id: string; owner: string; name: string }[] };
    expect(teams).toHaveLength(TEAMS * OWNERS.length);
    for (const { id, owner, name } of teams) {
      expect(owner).toBe(`service:${name}`);
      expect(own.get(name as Owner)).toContain(id);
    }
    const audited = await admin("GET", "/audit");
    const entries = String(audited.body)
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { actor: string; target: string });
    const strange = entries.filter(({ actor, target }) => {
      const owner = OWNERS.find((each) => actor === `service:${each}`);
      return owner && !own.get(owner)!.includes(target.replace("team:", ""));
    });
    expect(strange).toEqual([]);
  },
);
