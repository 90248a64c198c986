import { createGateway } from "../../../core/index.ts";
import { get } from "node:http";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { agentCardSchema } from "../../../plugins/a2a/contract/index.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { freePort, testPlugin } from "../../../core/testing/index.ts";
import a2a from "../../../plugins/a2a/index.ts";
import { optionsSchema } from "../../../plugins/a2a/options.ts";
import { pino } from "pino";
import { makeFolder } from "../../kit/folder.ts";
import { startRuntime } from "./kit.ts";

const SKILL = { id: "find", description: "Finds.", tags: ["x"], tool: { server: "a", name: "b" } };
const PATH = "/.well-known/agent-card.json";

testPlugin(a2a, {
  config: { listener: "main", skills: [SKILL] },
  changed: { listener: "main", skills: [SKILL], version: "2.0.0" },
});

/** The card as a request with these headers gets it. */
function ask(
  url: string,
  headers: Record<string, string>,
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (text: string) => (body += text));
      response.on("end", () => resolve({ status: response.statusCode!, body }));
    }).on("error", reject);
  });
}

describe("the agent card", () => {
  it("R015, R030, R031, R034, R062: is one document for contract v1 and A2A 1.0", async () => {
    const { url } = await startRuntime({
      skills: [SKILL],
      options: { name: "librarian", description: "Knows books.", version: "1.2.3" },
    });
    const response = await fetch(`${url}${PATH}`);
    expect(response.headers.get("content-type")).toBe("application/json");
    const card: unknown = await response.json();
    expect(agentCardSchema.safeParse(card).success).toBe(true);
    expect(card).toEqual({
      name: "librarian",
      description: "Knows books.",
      version: "1.2.3",
      supportedInterfaces: [
        { url: `${url}/`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
        { url, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
      ],
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false },
      defaultInputModes: ["text/plain", "application/json"],
      defaultOutputModes: ["text/plain", "application/json"],
      skills: [{ id: "find", name: "find", description: "Finds.", tags: ["x"] }],
    });
  });

  it("R043, R074: says that it streams", async () => {
    const { url } = await startRuntime({ skills: [SKILL] });
    const card = (await (await fetch(`${url}${PATH}`)).json()) as { capabilities: object };
    expect(card.capabilities).toMatchObject({ streaming: true });
  });

  it("R032, R033: is there before any task, and cacheable", async () => {
    const { url } = await startRuntime({ skills: [SKILL], options: { cardTtl: "1m" } });
    const first = await fetch(`${url}${PATH}`);
    expect(first.headers.get("cache-control")).toBe("public, max-age=60");
    const etag = first.headers.get("etag")!;
    const second = await fetch(`${url}${PATH}`, { headers: { "if-none-match": etag } });
    expect(second.status).toBe(304);
    expect(await second.text()).toBe("");
  });

  it("T24: has the same bytes whatever a request says of its host", async () => {
    const { url } = await startRuntime({
      skills: [SKILL],
      config: {
        listeners: { main: { port: 0, allowedHosts: ["evil.example", "evil.example:1"] } },
      },
    });
    const { body } = await ask(`${url}${PATH}`, {});
    const hostile: Record<string, string>[] = [
      { host: "evil.example" },
      { host: "evil.example:1" },
      { "x-forwarded-host": "evil.example" },
      { "x-forwarded-proto": "https" },
      { "x-forwarded-port": "1" },
      { "x-forwarded-prefix": "/evil" },
      { forwarded: "host=evil.example;proto=https" },
      { "x-original-url": "https://evil.example/" },
      { "x-rewrite-url": "/evil" },
      { "x-host": "evil.example" },
    ];
    for (const headers of hostile) {
      const answer = await ask(`${url}${PATH}`, headers);
      expect([headers, answer.status, answer.body]).toEqual([headers, 200, body]);
    }
  });

  it("takes its URLs from the config, below a path of its own", async () => {
    const { url } = await startRuntime({
      skills: [SKILL],
      options: { url: "https://agents.example/team/", path: "/a2a" },
    });
    const { body } = await ask(`${url}${PATH}`, {});
    expect(JSON.parse(body)).toMatchObject({
      supportedInterfaces: [
        { url: "https://agents.example/team/a2a", protocolBinding: "JSONRPC" },
        { url: "https://agents.example/team/a2a", protocolBinding: "HTTP+JSON" },
      ],
    });
  });

  it("says how to authenticate where messages need it", async () => {
    const { url } = await startRuntime({
      skills: [SKILL],
      config: { auth: { apiKey: "x".repeat(32) } },
    });
    const { body } = await ask(`${url}${PATH}`, {});
    expect(JSON.parse(body)).toMatchObject({
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
    });
  });
});

describe("the listener", () => {
  const start = async (options: object, listeners: Record<string, { port: number }>) => {
    const gateway = await createGateway(
      { listeners, plugins: { a2a: { skills: [SKILL], ...options } } },
      { plugins: { a2a }, log: pino({ level: "silent" }) },
    );
    onTestFinished(() => gateway.close({ grace: 0 }));
    return gateway;
  };
  const cardsOf = (gateway: Awaited<ReturnType<typeof start>>): string[] =>
    gateway.describe().routes.flatMap(({ path, listener }) => (path === PATH ? [listener] : []));

  const cardAt = async (port: number): Promise<unknown> =>
    (await fetch(`http://127.0.0.1:${port}${PATH}`)).json();

  it("R012, R045, R047: is one of its own on $A2A_PORT, by default 8080", async () => {
    const own = await start({}, { main: { port: 0 } });
    expect(own.describe().listeners).toContainEqual(
      expect.objectContaining({ name: "a2a", url: "http://127.0.0.1:8080" }),
    );
    // Another program may have that port.
    const found = await own.listen().then(
      () => cardAt(8080),
      (error: Error) => error.message,
    );
    expect(JSON.stringify(found)).toMatch(
      /"id":"find"|port 8080 on 127\.0\.0\.1 is already in use/,
    );
    const port = await freePort();
    vi.stubEnv("A2A_PORT", String(port));
    onTestFinished(() => void vi.unstubAllEnvs());
    const other = await start({}, { main: { port: 0 } });
    await other.listen();
    expect(other.describe().listeners).toContainEqual(
      expect.objectContaining({ name: "a2a", url: `http://127.0.0.1:${port}` }),
    );
    expect(cardsOf(other)).toEqual(["a2a"]);
    expect(await cardAt(port)).toMatchObject({ skills: [{ id: SKILL.id }] });
  });

  it("is the one that has the port already, or the one that is named", async () => {
    const port = await freePort();
    vi.stubEnv("A2A_PORT", String(port));
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(cardsOf(await start({}, { first: { port: 0 }, main: { port } }))).toEqual(["main"]);
    const named = await start({ listener: "other" }, { main: { port: 0 }, other: { port: 0 } });
    expect(cardsOf(named)).toEqual(["other"]);
  });

  it("is refused where A2A_PORT is no port", async () => {
    vi.stubEnv("A2A_PORT", "http");
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(start({}, { main: { port: 0 } })).rejects.toThrow(
      "The variable A2A_PORT must be a port",
    );
  });
});

describe("the options", () => {
  it.each([
    [{ skills: [{ id: "a" }] }, "skills.0"],
    [{ skills: [{ ...SKILL, agent: "x" }] }, "skills.0.tool"],
    [{ skills: [SKILL, SKILL] }, "skills.1.id"],
    [{ skills: [{ ...SKILL, id: "a b" }] }, "skills.0.id"],
    [{ skills: [SKILL], path: "/a/" }, "path"],
    [{ skills: [SKILL], unknown: 1 }, ""],
  ])("refuse %j, naming the place", (options, path) => {
    const { error } = optionsSchema.safeParse(options);
    expect(error?.issues.map((issue) => issue.path.join("."))).toContain(path);
  });

  it("R048: has the work directory of the container by default", async () => {
    const workDir = makeFolder();
    vi.stubEnv("WORK_DIR", workDir);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { runtime } = await startRuntime({
      skills: [{ id: "where", command: [process.execPath, "-p", "process.env.WORK_DIR"] }],
    });
    const running = await runtime().send(
      { role: "user", parts: [{ text: "" }] },
      { principal: createPrincipal({ id: "x", kind: "key", roles: new Set() }) },
    );
    const { artifacts } = await running.settled;
    expect(artifacts?.[0]?.parts).toEqual([{ text: `${workDir}\n` }]);
  });
});
