import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { definePlugin } from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";
import { importAll } from "./first-party.ts";

const HIDDEN = "zzwipezz";
const ROLES = ["viewer", "caller", "operator", "admin"] as const;
type Asker = (typeof ROLES)[number];
const PLUGINS = [
  "access",
  "admin",
  "breaker",
  "events",
  "gating",
  "health",
  "history",
  "openapi",
  "ratelimit",
  "ui",
  "sessions",
];

const lib = definePlugin({
  name: "lib",
  setup(gateway) {
    for (const name of ["open", HIDDEN])
      gateway.tool(name, { description: `It does ${name}.`, run: () => "done" });
  },
});

async function start() {
  const plugins = await importAll(PLUGINS);
  const hashOf = (role: string): string =>
    `sha256:${createHash("sha256").update(`key-${role}`).digest("hex")}`;
  const { gateway, url } = await setupGateway({
    client: false,
    plugins: [lib, ...plugins],
    config: {
      auth: { keys: Object.fromEntries(ROLES.map((role) => [role, { role, hash: hashOf(role) }])) },
      management: { mutations: true },
      plugins: { gating: { state: false, reserved: { [`lib/${HIDDEN}`]: "operator" } } },
    },
  });
  const ask = async (
    asker: Asker,
    method: string,
    path: string,
    body?: unknown,
    last?: string,
  ): Promise<{ status: number; text: string }> => {
    const response = await fetch(url + path, {
      method,
      redirect: "manual",
      headers: {
        authorization: `Bearer key-${asker}`,
        accept: "application/json, text/event-stream, */*;q=0.5",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(last !== undefined && { "last-event-id": last }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await textOf(response, last ? OPENED : HELLO) };
  };
  return { gateway, ask };
}

/** The last words of an event stream that are waited for: it has said all that was before. */
const HELLO = /event: hello\ndata: .*\n\n/;
const OPENED = /"tool":"open","enabled":true.*\n\n/;

async function textOf(response: Response, last: RegExp): Promise<string> {
  if (!response.headers.get("content-type")?.includes("event-stream")) return response.text();
  let text = "";
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    text += piece.value;
    if (last.test(text)) void reader.cancel();
  }
  return text;
}

it("attacks S3-3, S3-7: no route tells a viewer or caller of a tool that is reserved, nor of calls of it", async () => {
  const { gateway, ask } = await start();
  const at = `/_meta/servers/lib/tools/${HIDDEN}`;
  const hello = await ask("viewer", "GET", "/_meta/events");
  const begin = /^id: ?(.*)$/m.exec(hello.text)![1]!;
  expect((await ask("operator", "POST", `/lib/${HIDDEN}`, {})).status).toBe(200);
  expect((await ask("caller", "POST", "/lib/open", {})).status).toBe(200);
  expect((await ask("operator", "POST", `${at}/disable`, {})).status).toBe(200);
  expect((await ask("operator", "POST", `${at}/enable`, {})).status).toBe(200);
  // Everybody is told of it, after all that only operators are told.
  for (const action of ["disable", "enable"])
    expect(
      (await ask("operator", "POST", `/_meta/servers/lib/tools/open/${action}`, {})).status,
    ).toBe(200);
  const paths = gateway
    .describe()
    .routes.filter(({ method }) => method === "GET")
    .map(({ path }) =>
      path
        .replace(/:server|:name/, "lib")
        .replace(":tool", "open")
        .replaceAll(/:\w+|\*\*/g, "x"),
    );
  const told: string[] = [];
  const shown: string[] = [];
  for (const asker of ["viewer", "caller", "operator"] as const)
    for (const path of new Set(paths))
      if ((await ask(asker, "GET", path, undefined, begin)).text.includes(HIDDEN))
        (asker === "operator" ? shown : told).push(`${asker} ${path}`);
  expect(told).toEqual([]);
  expect(shown).toEqual(
    expect.arrayContaining([
      "operator /_meta/servers/lib/tools",
      "operator /_meta/events",
      "operator /_meta/history",
      "operator /_meta/state",
    ]),
  );
  const count = async (asker: Asker): Promise<unknown> =>
    JSON.parse((await ask(asker, "GET", "/_meta/servers/lib")).text).server.tools;
  expect([await count("caller"), await count("operator")]).toEqual([
    { total: 1, enabled: 1 },
    { total: 2, enabled: 2 },
  ]);
});

it("attacks S3-3: explain answers for a reserved tool what it answers for none", async () => {
  const { ask } = await start();
  const explain = async (asker: Asker, tool: string, more = ""): Promise<string> => {
    const path = `/_meta/access/explain?server=lib&tool=${tool}${more}`;
    return (await ask(asker, "GET", path)).text.replaceAll(tool, "TOOL");
  };
  expect(await explain("caller", HIDDEN)).toBe(await explain("caller", "nothere"));
  const about = "&principal=key:caller";
  expect(await explain("operator", HIDDEN, about)).toContain("A plugin keeps it");
  expect(await explain("operator", "nothere", about)).toContain("has no tool");
});

it("attacks S3-7: history shows a caller its own calls and those of tools in its lists, an operator all", async () => {
  const { ask } = await start();
  await ask("operator", "POST", `/lib/${HIDDEN}`, {});
  await ask("operator", "POST", "/lib/open", {});
  await ask("caller", "POST", "/lib/open", {});
  const seen = async (asker: Asker): Promise<string[]> => {
    const { entries } = JSON.parse((await ask(asker, "GET", "/_meta/history")).text) as {
      entries: { principal: string; tool: string }[];
    };
    return entries.map(({ principal, tool }) => `${principal} ${tool}`);
  };
  const open = ["key:caller open", "key:operator open"];
  expect(await seen("caller")).toEqual(open);
  expect(await seen("viewer")).toEqual(open);
  expect(await seen("operator")).toEqual([...open, `key:operator ${HIDDEN}`]);
  const { text } = await ask("caller", "GET", "/_meta/history/export");
  expect(text).not.toContain(HIDDEN);
});
