import { digestOf } from "propylon/kit";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { MANAGED, startManaged } from "./kit.ts";

const CANARY = "8f14e45fceea167a5a36dedd4bea2543";
const WORD = "opensesame";

const ENTRIES = `
  query: { url: "http://127.0.0.1:1/mcp?key=${WORD}" }
  path: { url: "http://127.0.0.1:1/hooks/${CANARY}/mcp" }
  user: { url: "http://me:${WORD}@127.0.0.1:1/mcp", headers: { X-Any: ${WORD} } }
  short: { command: no-such-command, args: [-k, ${WORD}, -H, "X-Any: ${WORD}"], env: { ANY: ${WORD} } }
  long: { command: no-such-command, args: [--header, "X-Any: ${WORD}", "--token=${WORD}", ${CANARY}] }
  pets: { type: openapi, spec: "http://127.0.0.1:1/${CANARY}/pets.json?key=${WORD}", baseUrl: "http://me:${WORD}@127.0.0.1:1/" }`;

it("shows no secret of any entry to a viewer on any route, nor to an operator", async () => {
  const viewer = createKey("viewer");
  const operator = createKey("operator");
  const managed = await startManaged(
    `publicUrl: "http://me:${WORD}@127.0.0.1:1/base?key=${WORD}"
${MANAGED.replace("\n  # does", `${ENTRIES}\n  # does`)}  health: {}
  history: {}
  events: {}
  metrics: {}
  breaker: {}
auth:
  keys:
    viewer: { role: viewer, hash: "sha256:${digestOf(viewer)}" }
    operator: { role: operator, hash: "sha256:${digestOf(operator)}" }
`,
  );
  const { gateway, url } = managed;
  await expect.poll(() => gateway.servers.get("long")?.status.state).not.toBe("connecting");
  const servers = [...gateway.servers.keys()];
  const paths = gateway
    .describe()
    .routes.filter(({ method, socket }) => method === "GET" && socket === undefined)
    .flatMap(({ path }) =>
      path.includes(":server") || path.includes(":name")
        ? servers.map((name) => path.replace(/:(?:server|name)/, name))
        : [path],
    );
  expect(paths.length).toBeGreaterThan(30);
  for (const [role, key] of Object.entries({ viewer, operator })) {
    for (const path of paths) {
      const response = await fetch(`${url}${path}`, {
        headers: { authorization: `Bearer ${key}` },
        signal: AbortSignal.timeout(20_000),
      });
      const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
      const text = isStream ? "" : await response.text();
      await (isStream && response.body?.cancel());
      expect(text.includes(WORD) || text.includes(CANARY), `${role} ${path}: ${text}`).toBe(false);
    }
  }
  const entry = async (key: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${url}/_meta/servers/query`, { headers });
    return ((await response.json()) as { server: { config: unknown } }).server.config;
  };
  expect(await entry(viewer)).toBeNull();
  expect(await entry(operator)).toMatchObject({ url: "http://127.0.0.1:1/mcp?key=***" });
});
