import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { importPallas, type PallasFiles } from "../../../plugins/agents/pallas/pallas.ts";
import { readPython } from "../../../plugins/agents/pallas/python.ts";
import { checkNames, parseConfig } from "../../../core/gateway/check/parse.ts";
import { createResolver } from "../../../core/gateway/gateway-options.ts";
import { createGateway } from "../../../core/index.ts";
import { pino } from "pino";
import { problems, SCHEMA_LINE } from "../../fixtures/editor.ts";
import { propylon } from "../../core/cli/propylon.ts";
import agents from "../../../plugins/agents/index.ts";
import health from "../../../plugins/health/index.ts";
import progress from "../../../plugins/progress/index.ts";
import registry from "../../../plugins/registry/index.ts";
import { makeFolder } from "../../kit/folder.ts";

const TOPOLOGY = `
name: pallas
version: "1.0.0"
host: puck.example
namespace: ca.helu.ouranos
registry_port: 23030
agents:
  research:
    module: agents.research
    port: 23031
    title: Research Agent
    description: Web search via Argos and knowledge graph via Neo4j
  orchestrator:
    module: agents.orchestrator
    port: 23033
    title: Orchestrator
    depends_on: [research]
`;

const CONFIG = `
default_model: generic.qwen3-8b-q5
model_capabilities: { vision: false, context_window: 200000, max_output_tokens: 32000 }
generic: { base_url: http://gpu.example:11434/v1 }
mcp:
  targets:
    - { name: fetch, target: uvx mcp-server-fetch --quiet }
  servers:
    argos: { transport: http, url: https://argos.example/mcp }
    neo4j: { command: neo4j-mcp, args: [--stdio], env: { NEO4J_PASSWORD: hunter2 } }
    research: { transport: http, url: http://localhost:23031/mcp }
`;

const SECRETS = `
generic: { api_key: sk-very-secret }
mcp: { servers: { argos: { headers: { Authorization: Bearer eyJhbGci } } } }
`;

const SOURCES: Readonly<Record<string, string>> = {
  "agents.research": `
fast = FastAgent("Pallas")

@fast.agent(
    name="research",
    instruction="""
You search and \\"quote\\".
Say where from.
""",
    servers=["argos", 'neo4j', "gone"],
    model="anthropic.claude-x.low",
)
async def main(): ...
`,
  "agents.orchestrator": `@fast.agent("orchestrator", instruction='Split it.', servers=["research"])`,
};

function filesOf(config = CONFIG): PallasFiles {
  return {
    agents: parse(TOPOLOGY) as unknown,
    config: parse(config) as unknown,
    secrets: parse(SECRETS) as unknown,
    source: (module) => SOURCES[module],
  };
}

describe("import of a Pallas deployment", () => {
  it("issue 25: prints a config that editors complete, and in which they find no fault", async () => {
    const folder = makeFolder();
    const files = {
      "agents.yaml": TOPOLOGY,
      "fastagent.config.yaml": CONFIG,
      "fastagent.secrets.yaml": SECRETS,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const { stdout } = await propylon(["import", "pallas", folder]);
    expect(stdout).toMatch(SCHEMA_LINE);
    expect(problems(parse(stdout))).toEqual([]);
  });

  it("makes a config of its agents, servers, models and registry", () => {
    const { config, notes } = importPallas(filesOf());
    const capabilities = { vision: false, context_window: 200000, max_output_tokens: 32000 };
    expect(config).toEqual({
      name: "ca.helu.ouranos/pallas",
      version: "1.0.0",
      publicUrl: "http://puck.example:8080",
      servers: {
        fetch: { command: "uvx", args: ["mcp-server-fetch", "--quiet"] },
        argos: {
          url: "https://argos.example/mcp",
          headers: { Authorization: "Bearer ${ARGOS_TOKEN}" },
        },
        neo4j: {
          command: "neo4j-mcp",
          args: ["--stdio"],
          env: { NEO4J_PASSWORD: "${NEO4J_NEO4J_PASSWORD}" },
        },
      },
      agents: {
        research: {
          title: "Research Agent",
          description: "Web search via Argos and knowledge graph via Neo4j",
          listener: { port: 23031 },
          model: "anthropic/claude-x",
          instructions: 'You search and "quote".\nSay where from.',
          servers: ["argos", "neo4j"],
          toolName: "send_message",
          capabilities,
        },
        orchestrator: {
          title: "Orchestrator",
          listener: { port: 23033 },
          instructions: "Split it.",
          agents: ["research"],
          dependsOn: ["research"],
          toolName: "send_message",
          capabilities,
        },
      },
      plugins: {
        agents: {
          providers: {
            generic: {
              type: "openai-compatible",
              baseUrl: "http://gpu.example:11434/v1",
              apiKey: "${GENERIC_API_KEY}",
            },
          },
          model: "generic/qwen3-8b-q5",
        },
        registry: { listener: { port: 23030 } },
        health: {},
        progress: {},
      },
    });
    expect(notes).toEqual([
      "agents.research uses gone, which fastagent.config.yaml does not have.",
      "Everything listens on 127.0.0.1: for clients elsewhere set host of the listeners, and auth.",
      "Put ARGOS_TOKEN into .env: the token of servers.argos.headers.Authorization.",
      "Put NEO4J_NEO4J_PASSWORD into .env: the value of servers.neo4j.env.NEO4J_PASSWORD.",
      "Put GENERIC_API_KEY into .env: the api_key of generic.",
    ]);
  });

  it("renames what cannot be the name of a server or an agent, wherever it is used", async () => {
    const names = ["..", ".", "__proto__", "constructor", "mcp", "two words", "my-server"];
    const listed = names.map((name) => JSON.stringify(name)).join(", ");
    const servers = names.map((name, at) => `    ${JSON.stringify(name)}: { command: run-${at} }`);
    const { config, notes } = importPallas({
      agents: parse(`
name: p
agents:
  __proto__: { port: 23041, servers: [${listed}] }
  toString: { port: 23042, servers: [other], depends_on: [__proto__] }
`) as unknown,
      config: parse(`
mcp:
  servers:
${servers.join("\n")}
    other: { url: http://localhost:23041/mcp }
`) as unknown,
      secrets: parse("mcp: { servers: { __proto__: { env: { KEY: x } } } }") as unknown,
      source: () => undefined,
    });
    const made = config["servers"] as Record<string, { command: string; env?: object }>;
    const renamed = {
      "my-server-2": "run-0",
      "my-server-3": "run-1",
      "proto-server": "run-2",
      "constructor-server": "run-3",
      "mcp-server": "run-4",
      "two-words": "run-5",
      "my-server": "run-6",
    };
    expect(Object.entries(made).map(([name, { command }]) => [name, command])).toEqual(
      Object.entries(renamed),
    );
    expect(made["proto-server"]!.env).toEqual({ KEY: "${PROTO_SERVER_KEY}" });
    expect(config["agents"]).toMatchObject({
      "proto-agent": { servers: Object.keys(renamed) },
      "toString-agent": { agents: ["proto-agent"], dependsOn: ["proto-agent"] },
    });
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
    expect(notes).toContain('The server ".." is called "my-server-2" now.');
    expect(notes).toContain('The agent "__proto__" is called "proto-agent" now.');
    const resolver = createResolver({ plugins: { agents, health, progress, registry } });
    await expect(parseConfig(parse(stringify(config)) as object, resolver)).resolves.toBeDefined();
    expect(checkNames(parse(stringify(config)))).toEqual([]);
  });

  it("copies no secret", () => {
    expect(stringify(importPallas(filesOf()))).not.toMatch(/sk-very|eyJ|hunter2/);
  });

  /** Servers of these names to which nothing connects. */
  const switchedOff = (servers: object): Record<string, { url: string; enabled: false }> =>
    Object.fromEntries(
      Object.keys(servers).map((name) => [name, { url: "http://127.0.0.1:9", enabled: false }]),
    );

  it("is a config that a gateway runs", async () => {
    const { config } = importPallas(filesOf());
    const gateway = await createGateway(
      { ...config, servers: switchedOff(config["servers"] as object) },
      { plugins: { agents, health, progress, registry }, log: pino({ level: "silent" }) },
    );
    expect(gateway.endpoints.map(({ url }) => url)).toContain("http://127.0.0.1:23031/mcp");
    await gateway.close({ grace: 0 });
  });

  it("T1, T158: refuses to pass on the credentials of callers, and says what to do instead", () => {
    const forwarding = CONFIG.replace(
      "url: https://argos",
      "forward_inbound_auth: true, url: https://argos",
    );
    expect(() => importPallas(filesOf(forwarding))).toThrow(
      expect.objectContaining({
        code: "invalid",
        message:
          'The server "argos" has forward_inbound_auth: true, but the credentials of callers are never passed on.',
        hint: expect.stringContaining(
          'headers: { Authorization: "Bearer ${ARGOS_TOKEN}" }',
        ) as string,
      }),
    );
  });

  it("refuses what is no deployment", () => {
    const empty = { agents: undefined, config: null, secrets: [], source: () => undefined };
    expect(() => importPallas(empty)).toThrow("The agents.yaml has no agents.");
  });

  it("reads nothing off Python that is not a plain agent", () => {
    expect(readPython("print('hello')")).toBeUndefined();
    expect(readPython(undefined)).toBeUndefined();
    expect(readPython("@fast.agent(instruction=PROMPT)")).toEqual({
      instruction: undefined,
      model: undefined,
      servers: [],
    });
  });
});
