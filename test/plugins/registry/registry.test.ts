import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { readFile } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway, testPlugin } from "../../../core/testing/index.ts";
import { Agents, type AgentInfo } from "../../../plugins/agents/service.ts";
import registry from "../../../plugins/registry/index.ts";
import { strictProblems, toStrictServer } from "../../../plugins/registry/entry.ts";

/** Says that there are these agents; changing the list is changing what is provided. */
function agentsOf(list: AgentInfo[]) {
  return definePlugin({
    name: "agents",
    config: z.strictObject({}),
    provides: Agents,
    setup: () => ({
      list: () => list,
      get: (name) => list.find((agent) => agent.name === name),
      run: () => Promise.reject(new Error("not here")),
      offer: () => () => {},
      preflight: () => Promise.resolve(undefined),
    }),
  });
}

const RESEARCH: AgentInfo = {
  name: "research",
  id: "ca.helu.ouranos/pallas-research",
  title: "Research Agent",
  description: "Web search via Argos and knowledge graph via Neo4j",
  version: "1.0.0",
  icons: [{ src: "https://daedalus.ouranos.helu.ca/icons/research.svg", sizes: "any" }],
  capabilities: {
    model: "qwen3-8b-q5",
    vision: false,
    context_window: 200000,
    max_output_tokens: 32000,
  },
  servers: [],
  url: "http://puck.incus:23031/mcp",
  updatedAt: "2026-03-12T10:00:00.000Z",
};
const INFRA: AgentInfo = {
  name: "infra",
  id: "ca.helu.ouranos/pallas-infra",
  title: "Engineering Agent",
  description: "Shell access via Kernos and repository management via Gitea",
  version: "1.0.0",
  capabilities: RESEARCH.capabilities,
  servers: [],
  url: "http://puck.incus:23032/mcp",
  updatedAt: "2026-03-12T10:00:00.000Z",
  registry: { schema: false },
};
const PATH = "/.well-known/mcp/server.json";

testPlugin(registry, {
  config: {},
  changed: { strictSchema: true },
  with: [agentsOf([RESEARCH])],
});

describe("GET /.well-known/mcp/server.json", () => {
  it("P013, P019, P020, P022, P024, P025, P026, P027, P029, P031, P032, P034, P035: is the source's sample, byte for byte", async () => {
    const { url } = await setupGateway({
      plugins: [agentsOf([RESEARCH, INFRA]), registry],
      client: false,
    });
    const response = await fetch(`${url}${PATH}`, { headers: { accept: "application/json" } });
    const sample = await readFile(new URL("sample.json", import.meta.url), "utf8");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe(JSON.stringify(JSON.parse(sample)));
  });

  it("P014, P021, P036, P037: shows the agents of now, none as an empty list", async () => {
    const agents: AgentInfo[] = [];
    const { url } = await setupGateway({ plugins: [agentsOf(agents), registry], client: false });
    const names = async () => {
      const { servers } = (await (await fetch(`${url}${PATH}`)).json()) as {
        servers: { server: { name: string } }[];
      };
      return servers.map(({ server }) => server.name);
    };
    expect(await names()).toEqual([]);
    agents.push(RESEARCH, INFRA);
    expect(await names()).toEqual([RESEARCH.id, INFRA.id]);
    agents.shift();
    expect(await names()).toEqual([INFRA.id]);
  });

  it("P007, P016, P017, P018, P038: has a listener of its own, asks for nothing, and ignores what it does not know", async () => {
    const { gateway, url } = await setupGateway({
      plugins: [agentsOf([RESEARCH]), [registry, { listener: { port: 0 } }]],
      config: { auth: { apiKey: "0123456789abcdef" } },
      client: false,
    });
    const own = gateway.addresses.get("registry")!.url;
    const plain = await fetch(`${own}${PATH}`);
    const asked = await fetch(`${own}${PATH}?page=2&x`, {
      headers: { accept: "application/json" },
    });
    expect([plain.status, asked.status]).toEqual([200, 200]);
    expect(await asked.text()).toBe(await plain.text());
    expect((await fetch(`${url}${PATH}`)).status).toBe(404);
  });

  it("asks for credentials when told to (C29)", async () => {
    const { url } = await setupGateway({
      plugins: [agentsOf([RESEARCH]), [registry, { requireAuth: true }]],
      config: { auth: { apiKey: "0123456789abcdef" } },
      client: false,
    });
    expect((await fetch(`${url}${PATH}`)).status).toBe(401);
    const headers = { authorization: "Bearer 0123456789abcdef" };
    expect((await fetch(`${url}${PATH}`, { headers })).status).toBe(200);
  });

  it("has an ETag that changes with the list", async () => {
    const agents = [RESEARCH];
    const { url } = await setupGateway({ plugins: [agentsOf(agents), registry], client: false });
    const etag = (await fetch(`${url}${PATH}`)).headers.get("etag")!;
    const again = () => fetch(`${url}${PATH}`, { headers: { "if-none-match": etag } });
    expect((await again()).status).toBe(304);
    agents.push(INFRA);
    expect((await again()).status).toBe(200);
  });

  it("P033, P040: keeps relative icons and needs nothing but a name", async () => {
    const bare: AgentInfo = {
      name: "a",
      id: "x/a",
      servers: [],
      url: "http://h/mcp",
      updatedAt: "2026-01-01T00:00:00Z",
      icons: [{ src: "icons/a.svg" }],
    };
    const { url } = await setupGateway({ plugins: [agentsOf([bare]), registry], client: false });
    const { servers } = (await (await fetch(`${url}${PATH}`)).json()) as {
      servers: { server: object }[];
    };
    expect(servers[0]!.server).toEqual({
      $schema: expect.any(String),
      name: "x/a",
      icons: [{ src: "icons/a.svg" }],
      remotes: [{ type: "streamable-http", url: "http://h/mcp" }],
    });
  });
});

describe("the official API v0.1", () => {
  const many = Array.from({ length: 65 }, (_, at): AgentInfo => ({
    ...RESEARCH,
    id: `x/agent-${String(at).padStart(2, "0")}`,
    version: at % 2 === 0 ? "1.0.0" : "2.0.0",
    updatedAt: at < 60 ? "2026-01-01T00:00:00Z" : "2026-06-01T00:00:00Z",
  }));
  const start = async () => {
    const { url } = await setupGateway({
      plugins: [agentsOf(many.toReversed()), registry],
      client: false,
    });
    return async (path: string) => {
      const response = await fetch(`${url}/v0.1${path}`);
      // eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
      return { status: response.status, body: (await response.json()) as any };
    };
  };

  it("pages through everything once, in order", async () => {
    const get = await start();
    const seen: string[] = [];
    for (let cursor = ""; ;) {
      const { body } = await get(`/servers?limit=20${cursor}`);
      seen.push(...body.servers.map((entry: { server: { name: string } }) => entry.server.name));
      expect(body.metadata.count).toBe(body.servers.length);
      if (body.metadata.nextCursor === undefined) break;
      cursor = `&cursor=${encodeURIComponent(body.metadata.nextCursor)}`;
    }
    expect(seen).toEqual(many.map(({ id }) => id));
  });

  it("searches by name, version and time of change", async () => {
    const get = await start();
    expect((await get("/servers?search=AGENT-1&limit=100")).body.metadata.count).toBe(10);
    expect((await get("/servers?version=2.0.0&limit=100")).body.metadata.count).toBe(32);
    expect((await get("/servers?version=latest&limit=100")).body.metadata.count).toBe(65);
    expect(
      (await get("/servers?updated_since=2026-03-01T00:00:00Z&limit=100")).body.metadata.count,
    ).toBe(5);
    expect((await get("/servers")).body.metadata.count).toBe(30);
  });

  it.each(["limit=0", "limit=101", "limit=x", "updated_since=yesterday"])(
    "refuses ?%s",
    async (query) => {
      const get = await start();
      const { status, body } = await get(`/servers?${query}`);
      expect([status, body.error.code]).toEqual([422, "invalid"]);
    },
  );

  it("shows one server by its encoded name and version", async () => {
    const get = await start();
    const name = encodeURIComponent("x/agent-03");
    const { body } = await get(`/servers/${name}/versions/latest`);
    expect(body).toMatchObject({
      server: { name: "x/agent-03", version: "2.0.0" },
      _meta: {
        "io.modelcontextprotocol.registry/official": {
          status: "active",
          publishedAt: expect.any(String),
          updatedAt: expect.any(String),
          isLatest: true,
        },
      },
    });
    expect((await get(`/servers/${name}/versions/2.0.0`)).body).toEqual(body);
    expect((await get(`/servers/${name}/versions`)).body).toEqual({
      servers: [body],
      metadata: { count: 1 },
    });
    expect((await get(`/servers/${name}/versions/9.9.9`)).status).toBe(404);
    expect((await get("/servers/nobody/versions")).status).toBe(404);
  });
});

describe("strictSchema", () => {
  it("P015: changes exactly what the official schema would refuse", () => {
    const strict = toStrictServer({
      ...RESEARCH,
      version: undefined,
      description: "d".repeat(150),
      icons: [...RESEARCH.icons!, { src: "a.svg" }],
    });
    expect(strict).toEqual({
      $schema: expect.stringContaining("2025-12-11"),
      name: RESEARCH.id,
      title: RESEARCH.title,
      description: `${"d".repeat(99)}…`,
      version: "0.0.0",
      icons: [{ ...RESEARCH.icons![0], sizes: ["any"] }],
      remotes: [{ type: "streamable-http", url: RESEARCH.url }],
      _meta: {
        "io.modelcontextprotocol.registry/publisher-provided": {
          capabilities: RESEARCH.capabilities,
        },
      },
    });
  });

  /** What the official schema of 2025-12-11 demands of a remote server, in our words. */
  const official = z.looseObject({
    $schema: z.url(),
    name: z
      .string()
      .min(3)
      .max(200)
      .regex(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/),
    title: z.string().min(1).max(100).optional(),
    description: z.string().min(1).max(100),
    version: z.string().min(1).max(255),
    icons: z
      .array(
        z.strictObject({
          src: z.url({ protocol: /^https$/ }).max(255),
          sizes: z.array(z.string().regex(/^(\d+x\d+|any)$/)).optional(),
          mimeType: z
            .enum(["image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"])
            .optional(),
          theme: z.enum(["light", "dark"]).optional(),
        }),
      )
      .optional(),
    remotes: z.array(
      z.object({
        type: z.enum(["streamable-http", "sse"]),
        url: z.string().regex(/^https?:\/\/\S+$/),
      }),
    ),
    _meta: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
  });

  it("P015: whatever the operator wrote, the official schema takes it", () => {
    const icon = fc.record(
      {
        src: fc.oneof(
          fc.webUrl(),
          fc.constant("icons/a.svg"),
          fc.string().map((path) => `https://h/${encodeURIComponent(path)}`),
        ),
        sizes: fc.oneof(
          fc.constant("any"),
          fc.constant("16x16 32x32"),
          fc.string(),
          fc.array(fc.string()),
          fc.constant(["any", "x"]),
        ),
        mimeType: fc.oneof(fc.constant("image/png"), fc.string()),
        theme: fc.oneof(fc.constant("dark"), fc.string()),
      },
      { requiredKeys: ["src"] },
    );
    const written = fc.record(
      {
        title: fc.string({ maxLength: 300 }),
        description: fc.string({ maxLength: 300 }),
        version: fc.constant("1.2.3"),
        icons: fc.array(icon),
        capabilities: fc.dictionary(fc.string(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(written, (facts) => {
        const agent = {
          name: "a",
          id: "x.y/a",
          servers: [],
          url: "http://h:1/mcp",
          updatedAt: "2026-01-01T00:00:00Z",
          ...facts,
        };
        expect(official.safeParse(toStrictServer(agent as AgentInfo)).error?.issues ?? []).toEqual(
          [],
        );
      }),
    );
  });

  it("C28: names what it would refuse, agent by agent, without strict mode", async () => {
    expect(strictProblems({ ...RESEARCH, icons: undefined })).toEqual([]);
    expect(
      strictProblems({
        ...RESEARCH,
        id: "plain",
        description: undefined,
        version: undefined,
        icons: [{ src: "x.svg", sizes: "any" }],
      }),
    ).toHaveLength(5);
    const { gateway } = await setupGateway({
      plugins: [agentsOf([RESEARCH]), registry],
      client: false,
    });
    expect(collectWarnings(gateway)).toEqual([
      expect.objectContaining({
        code: "plugin",
        path: ["plugins", "agents", "agents", "research"],
        message: expect.stringMatching(/sizes of an icon/),
      }),
    ]);
  });
});
