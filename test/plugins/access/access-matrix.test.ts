import { describe, expect, it } from "vitest";
import { connectClient, connectModernClient } from "../../../core/testing/index.ts";
import a2a from "../../../plugins/a2a/index.ts";
import admin from "../../../plugins/admin/index.ts";
import breaker from "../../../plugins/breaker/index.ts";
import events from "../../../plugins/events/index.ts";
import gating from "../../../plugins/gating/index.ts";
import health from "../../../plugins/health/index.ts";
import history from "../../../plugins/history/index.ts";
import metrics from "../../../plugins/metrics/index.ts";
import sessions from "../../../plugins/sessions/index.ts";
import ui from "../../../plugins/ui/index.ts";
import { headersOf, house, withRules, type Person } from "./kit.ts";

/** One of every kind that a bearer can be, and of every role. */
const PEOPLE: readonly Person[] = [
  { kind: "user", id: "viewer", roles: ["viewer"] },
  { kind: "user", id: "ann" },
  { kind: "user", id: "plain", roles: [] },
  { kind: "team", id: "kottos" },
  { kind: "team", id: "rival" },
  { kind: "agent", id: "writer" },
  { kind: "service", id: "crawler", roles: ["service"] },
  { kind: "service", id: "indexer", roles: ["service", "caller"] },
  { kind: "key", id: "ops", roles: ["operator"] },
  { kind: "key", id: "root", roles: ["admin"] },
];
const SERVERS = { search: ["find", "delete_index"], shop: ["buy", "delete_order"] } as const;
const TOOLS = Object.entries(SERVERS).flatMap(([server, tools]) =>
  tools.map((tool) => ({ server, tool })),
);
const RULES = [
  { allow: ["search.*"], for: { team: ["kottos"] } },
  { deny: ["*.delete_*"], for: { role: "caller" } },
  { allow: ["search.find"], for: { kind: ["user", "service"] } },
  { allow: ["shop.buy"], for: { agent: "wr*" } },
  { allow: ["*"], for: { role: "operator" } },
] as const;

async function start() {
  return withRules(structuredClone(RULES) as never, PEOPLE, {
    plugins: [
      house("search", SERVERS.search),
      house("shop", SERVERS.shop),
      admin,
      breaker,
      events,
      gating,
      health,
      history,
      metrics,
      sessions,
      ui,
      [
        a2a,
        {
          listener: "main",
          skills: TOOLS.map(({ server, tool }) => ({
            id: tool,
            description: tool,
            tags: ["x"],
            tool: { server, name: tool },
          })),
        },
      ],
    ],
    config: { management: { mutations: true } },
  });
}
type Started = Awaited<ReturnType<typeof start>>;

const nameOf = (person: Person): string =>
  `${person.kind}:${person.id} (${(person.roles ?? ["caller"]).join(", ")})`;
/** Whether a role lets somebody call at all; without any role one is a caller. */
const mayCall = ({ roles = ["caller"] }: Person): boolean =>
  roles.length === 0 || roles.some((role) => ["caller", "operator", "admin"].includes(role));
const isEmpty = (names: readonly string[]): string => (names.length === 0 ? "-" : names.join(" "));

/** What each face lists for somebody, and what it lets be called, by the names of the tools. */
async function faces({ at, url, post }: Started, person: Person) {
  const headers = headersOf(person);
  const names = TOOLS.map(({ tool }) => tool);
  const over = async (connect: typeof connectClient | typeof connectModernClient) => {
    const client = await connect(at, { headers }).catch(() => undefined);
    if (!client) return { listed: [], callable: [] };
    const { tools } = await client.listTools();
    const callable: string[] = [];
    for (const name of names)
      await client.callTool({ name }).then(
        () => callable.push(name),
        (error: { data?: { code?: string } }) => expect(error.data?.code).toBe("forbidden"),
      );
    await client.close();
    return { listed: tools.map(({ name }) => name), callable };
  };
  const openapi = async () => {
    const reply = await fetch(`${url}/openapi.json`, { headers });
    const { paths = {} } = (await reply.json()) as { paths?: Record<string, unknown> };
    const isListed = ({ server, tool }: (typeof TOOLS)[number]) => `/${server}/${tool}` in paths;
    const callable: string[] = [];
    for (const { server, tool } of TOOLS) {
      const { status } = await post(person, `/${server}/${tool}`);
      expect([200, 403]).toContain(status);
      if (status === 200) callable.push(tool);
    }
    // Documents are for viewers: to somebody without any role they show nothing.
    const listed = reply.status === 403 ? callable : TOOLS.filter(isListed).map(({ tool }) => tool);
    return { listed, callable };
  };
  const skills = async () => {
    const card = await fetch(`${url}/.well-known/agent-card.json`, { headers });
    const { skills: shown } = (await card.json()) as { skills: { id: string }[] };
    const callable: string[] = [];
    for (const skill of names) {
      const reply = await post(person, "/message:send", {
        message: {
          messageId: crypto.randomUUID(),
          role: "ROLE_USER",
          parts: [{ data: {} }],
        },
        metadata: { skill },
      });
      if (/COMPLETED/.test(JSON.stringify(reply.body))) callable.push(skill);
    }
    return { listed: shown.map(({ id }) => id), callable };
  };
  return {
    "MCP legacy": await over(connectClient),
    "MCP modern": await over(connectModernClient),
    "REST and OpenAPI": await openapi(),
    A2A: await skills(),
  };
}

describe("who may use what", () => {
  it("lists what is callable and nothing else, on every face, for every kind of principal", async () => {
    const started = await start();
    const rows: string[] = [];
    for (const person of PEOPLE) {
      const seen = await faces(started, person);
      for (const [face, { listed, callable }] of Object.entries(seen)) {
        // A viewer may look at documents and cards; that it may not call is its role's doing, and told by the face itself.
        const wanted = mayCall(person) ? listed.toSorted() : [];
        expect([nameOf(person), face, ...callable.toSorted()]).toEqual([
          nameOf(person),
          face,
          ...wanted,
        ]);
        rows.push(`${nameOf(person)} | ${face} | ${isEmpty(callable.toSorted())}`);
      }
    }
    await expect(`${rows.join("\n")}\n`).toMatchFileSnapshot("./tools.snap.txt");
  });

  it("opens each route to whom its role is for, whatever the rules say about tools", async () => {
    const { gateway, url } = await start();
    const rows: string[] = [];
    const routes = gateway
      .describe()
      .routes.filter(({ socket, method, path }) => socket !== true && !isStream(method, path));
    for (const { method, path, access } of routes) {
      const fates: string[] = [];
      for (const person of [undefined, ...PEOPLE]) {
        const reply = await fetch(url + path.replaceAll(/\/:\w+/g, "/nothing"), {
          method,
          headers: person ? headersOf(person) : {},
        });
        const text = await reply.text();
        const isShut =
          reply.status === 401 || (reply.status === 403 && text.includes("needs the role"));
        if (!isShut) fates.push(person ? nameOf(person) : "nobody");
      }
      rows.push(`${method} ${path} (${access}): ${isEmpty(fates)}`);
    }
    await expect(`${rows.toSorted().join("\n")}\n`).toMatchFileSnapshot("./routes.snap.txt");
  });
});

/** Answers with what never ends. */
const isStream = (method: string, path: string): boolean =>
  method === "GET" && path === "/_meta/events";
