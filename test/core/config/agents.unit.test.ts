import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type GatewayConfig, type GatewayConfigInput, toGatewayError } from "propylon";
import { describe, expect, it } from "vitest";
import { issuesOf, issueText } from "../../../core/config/issue.ts";
import { configJsonSchema } from "../../../core/gateway/check/jsonschema.ts";
import { ConfigFile } from "../../../core/file/config-file.ts";
import { parseConfig } from "../../../core/gateway/check/parse.ts";
import { dryRun } from "../../../core/gateway/management/dry-run.ts";
import { createResolver } from "../../../core/gateway/gateway-options.ts";
import agents from "../../../plugins/agents/index.ts";
import { makeFolder } from "../../kit/folder.ts";

/** Lines that `propylon check` would print for a config. */
async function problemsOf(yaml: string): Promise<string[]> {
  const folder = makeFolder();
  const file = join(folder, "gateway.yaml");
  await writeFile(file, yaml);
  try {
    const checked = await new ConfigFile(file, { environment: {} }).load();
    await (await dryRun(checked, folder)).close({ grace: 0 });
    return [];
  } catch (thrown) {
    return issuesOf(toGatewayError(thrown)).map(issueText);
  }
}

/** What a config in code amounts to. */
const parse = async (input: GatewayConfigInput): Promise<GatewayConfig> =>
  (await parseConfig(input, createResolver({ plugins: { agents } }))).values;

describe("agents at the top of a config", () => {
  it("are the agents of the plugin, which they bring", async () => {
    const { plugins } = await parse({ agents: { research: { model: "a/b" } } });
    expect(plugins).toEqual({ agents: { agents: { research: { model: "a/b" } } } });
  });

  it("stand beside its other options, and are nothing when it is switched off", async () => {
    const both = await parse({ agents: { a: {} }, plugins: { agents: { maxDepth: 2 } } });
    expect(both.plugins).toEqual({ agents: { maxDepth: 2, agents: { a: {} } } });
    const off = await parse({ agents: { a: {} }, plugins: { agents: false } });
    expect(off.plugins).toEqual({ agents: false });
  });

  it("cannot be in two places", async () => {
    await expect(parse({ agents: { a: {} }, plugins: { agents: { agents: {} } } })).rejects.toThrow(
      "agents is set here and in plugins.agents.agents.",
    );
    expect(await problemsOf("agents: { a: {} }\nplugins: { agents: { agents: {} } }\n")).toEqual([
      expect.stringContaining(
        "gateway.yaml:1:1 agents is set here and in plugins.agents.agents (gateway.yaml:2:22).",
      ),
    ]);
  });

  it("have their problems told where they stand", async () => {
    const yaml = [
      "agents:",
      "  research:",
      "    modle: openai/gpt-5",
      "    listener: { prot: 1, port: 2 }",
      "  writer: { limits: { turns: 0 } }",
    ];
    expect((await problemsOf(yaml.join("\n"))).toSorted()).toEqual([
      expect.stringContaining(':3:5 Unknown key "modle" in agents.research. Did you mean "model"?'),
      expect.stringContaining(':4:17 Unknown key "prot" in agents.research.listener.'),
      expect.stringContaining(":5:30 agents.writer.limits.turns must be at least 1."),
    ]);
    expect(await problemsOf("agents: 5\n")).toEqual([
      expect.stringContaining(":1:9 agents must be a map."),
    ]);
  });

  it("have the servers, listeners and agents they name checked", async () => {
    const yaml = [
      "servers: { search: { url: http://127.0.0.1:9/mcp } }",
      "agents:",
      "  research: { servers: [serch], listener: lobby }",
      "  writer: { dependsOn: [research, printer], agents: [] }",
    ];
    expect(await problemsOf(yaml.join("\n"))).toEqual([
      expect.stringContaining(
        ':3:25 The agent "research" names a server "serch" that does not exist. Did you mean "search"?',
      ),
      expect.stringContaining(':3:43 The agent "research" names a listener "lobby"'),
      expect.stringContaining(':4:35 The agent "writer" names a server "printer"'),
    ]);
    expect(await problemsOf("agents: { a: { agents: [b] } }\n")).toEqual([
      expect.stringContaining(":1:25 agents.a.agents[0] is not an agent"),
    ]);
    expect(await problemsOf("agents: { a: { dependsOn: [b] }, b: { dependsOn: [a] } }\n")).toEqual([
      expect.stringContaining("agents.a waits for itself: a > b > a."),
    ]);
  });

  it("may be named by endpoints, since each is a server", async () => {
    const yaml = (name: string): string =>
      `agents: { research: {} }\nendpoints: { mcp: { path: /mcp, servers: [${name}] } }\n`;
    expect(await problemsOf(yaml("research"))).toEqual([]);
    expect(await problemsOf(yaml("reserch"))).toEqual([
      expect.stringContaining(
        'The endpoint "mcp" names a server "reserch" that does not exist. Did you mean "research"?',
      ),
    ]);
  });

  it("are described in the JSON schema", () => {
    const { properties } = configJsonSchema({ agents }) as {
      properties: { agents: { additionalProperties: { properties: object } } };
    };
    expect(Object.keys(properties.agents.additionalProperties.properties)).toContain(
      "instructions",
    );
  });
});

it("a variable may stand where a plugin wants a number or a boolean", async () => {
  const folder = makeFolder();
  const yaml =
    "agents: { a: { listener: { port: '${PORT:-7}' }, capabilities: { vision: '${VISION}' } } }\nplugins: { agents: { maxDepth: '${DEPTH}', providers: {} } }\n";
  await writeFile(join(folder, "gateway.yaml"), yaml);
  const load = (environment: Record<string, string>) =>
    new ConfigFile(join(folder, "gateway.yaml"), { environment }).load();
  const checked = await load({ VISION: "true", DEPTH: "3" });
  expect(checked.config.values.plugins["agents"]).toEqual({
    maxDepth: 3,
    providers: {},
    agents: { a: { listener: { port: 7 }, capabilities: { vision: true } } },
  });
  const found = await load({ VISION: "true", DEPTH: "many" }).catch((thrown: unknown) =>
    issuesOf(toGatewayError(thrown)).map(issueText),
  );
  expect(found).toEqual([
    expect.stringContaining(":2:32 plugins.agents.maxDepth must be a number."),
  ]);
});
