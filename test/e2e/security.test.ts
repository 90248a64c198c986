import { request as httpRequest } from "node:http";
import { once } from "node:events";
import { pino } from "pino";
import { createGateway, type Gateway, definePlugin } from "propylon";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Speaker, type Era } from "./speaker.ts";

const ERAS: readonly Era[] = ["legacy", "modern"];
const reached: string[] = [];

const witness = definePlugin({
  name: "witness",
  setup(gateway) {
    const see = (what: string) => () => {
      reached.push(what);
      return { seen: what };
    };
    gateway.tool("look", { description: "Is seen.", run: see("tool") });
    gateway.route("GET", "/open", { access: "public", mutates: false }, see("GET /open"));
    gateway.route("POST", "/open", { access: "public", mutates: true }, see("POST /open"));
    gateway.route("DELETE", "/items/:id", { access: "admin", mutates: true }, see("DELETE /items"));
  },
});

let gateway: Gateway;
let port: number;
const speakers = {} as Record<Era, Speaker>;

beforeAll(async () => {
  const config = {
    listeners: { main: { port: 0, allowedOrigins: ["https://app.example"] } },
    plugins: { witness: {} },
  };
  gateway = await createGateway(config, { plugins: { witness }, log: pino({ level: "silent" }) });
  await gateway.listen();
  const [endpoint] = gateway.endpoints;
  port = Number(new URL(endpoint!.url).port);
  for (const era of ERAS) speakers[era] = await Speaker.open(endpoint!.url, era);
});

afterAll(async () => {
  for (const era of ERAS) await speakers[era].close();
  await gateway.close({ grace: 500 });
});

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

async function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body = "",
): Promise<Answer> {
  const req = httpRequest({ host: "127.0.0.1", port, method, path, headers, agent: false });
  req.end(body);
  const [res] = await once(req, "response");
  let text = "";
  for await (const chunk of res) text += String(chunk);
  return { status: res.statusCode, headers: res.headers, body: text };
}

/** Every way in: the endpoint with each method, the probes, the routes of plugins, what does not exist. */
const ROUTES = [
  ["POST", "/mcp"],
  ["GET", "/mcp"],
  ["DELETE", "/mcp"],
  ["PUT", "/mcp"],
  ["OPTIONS", "/mcp"],
  ["GET", "/livez"],
  ["GET", "/readyz"],
  ["GET", "/readyz?verbose"],
  ["GET", "/open"],
  ["POST", "/open"],
  ["OPTIONS", "/open"],
  ["DELETE", "/items/1"],
  ["GET", "/nothing"],
  ["POST", "/"],
  ["GET", "/%2e%2e/open"],
  ["GET", "//open"],
] as const;

const HOSTILE = [
  ["Host of a stranger", { host: "evil.example" }],
  ["Host of a stranger with our port", { host: "evil.example:PORT" }],
  ["Host that begins like ours", { host: "127.0.0.1.evil.example:PORT" }],
  ["our name with another port", { host: "localhost:1" }],
  ["another loopback address", { host: "127.0.0.2:PORT" }],
  ["Origin of a stranger", { origin: "http://evil.example" }],
  ["Origin null", { origin: "null" }],
  ["Origin on another local port", { origin: "http://localhost:1" }],
  ["Origin that begins like ours", { origin: "http://127.0.0.1:PORT.evil.example" }],
  [
    "Host and Origin of one stranger",
    { host: "evil.example:PORT", origin: "http://evil.example:PORT" },
  ],
] as const;

describe.each(ERAS)("acceptance 8, T6: %s", (era) => {
  const attack = (hostile: Record<string, string>): Record<string, string> => {
    const placed = Object.entries(hostile).map(
      ([name, value]) => [name, value.replace("PORT", String(port))] as const,
    );
    const message = speakers[era].message("tools/call", { name: "look", arguments: {} }, 1);
    return { ...speakers[era].headersFor(message), ...Object.fromEntries(placed) };
  };
  const body = (): string =>
    JSON.stringify(speakers[era].message("tools/call", { name: "look", arguments: {} }, 1));

  it.each(HOSTILE)("%s is 403 on every route", async (_title, hostile) => {
    reached.length = 0;
    for (const [method, path] of ROUTES) {
      const answer = await send(method, path, attack(hostile), method === "POST" ? body() : "");
      expect(answer.status, `${method} ${path}`).toBe(403);
      expect(JSON.parse(answer.body), `${method} ${path}`).toMatchObject(
        path === "/mcp"
          ? { jsonrpc: "2.0", id: null, error: { data: { code: "forbidden" } } }
          : { ok: false, error: { code: "forbidden" } },
      );
      expect(answer.headers["access-control-allow-origin"]).toBeUndefined();
    }
    expect(reached).toEqual([]);
  });

  it("the same requests with our Host, and with an allowed Origin, get through", async () => {
    reached.length = 0;
    for (const origin of [`http://127.0.0.1:${port}`, "https://app.example"]) {
      const answer = await send("POST", "/mcp", attack({ origin }), body());
      expect(answer.status).toBe(200);
      expect(answer.headers["access-control-allow-origin"]).toBe(origin);
      expect((await send("GET", "/open", attack({ origin }))).status).toBe(200);
    }
    expect(reached).toEqual(["tool", "GET /open", "tool", "GET /open"]);
  });
});

it("T12: a call is decided by its body; headers that say something else refuse it", async () => {
  const modern = speakers.modern;
  const message = modern.message("tools/call", { name: "look", arguments: {} }, 5);
  reached.length = 0;
  for (const lie of [{ "mcp-name": "other" }, { "mcp-method": "tools/list" }]) {
    const { status, messages } = await modern.send(JSON.stringify(message), {
      ...modern.headersFor(message),
      ...lie,
    });
    expect(status).toBe(400);
    expect(messages[0]).toMatchObject({ id: 5, error: { code: -32020 } });
  }
  expect(reached).toEqual([]);
});
