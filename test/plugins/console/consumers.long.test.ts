import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { fakeUpstream, freePort } from "../../../core/testing/index.ts";
import { requirePresent } from "../../fixtures/programs.ts";
import { makeFolder } from "../../kit/folder.ts";
import { startHostProcess } from "./host-process.ts";
import { type AgentView, type InstanceView, setupConsole } from "./kit.ts";

const HERE = dirname(fileURLToPath(import.meta.url));
/** Neither npm nor apt has these packages, so not in CI either: these name interpreters that do. */
const PYTHON = process.env["PYTHON"] ?? "python3";
const FAST_AGENT_PYTHON = process.env["FAST_AGENT_PYTHON"] ?? PYTHON;

const run = promisify(execFile);

/** Whether an interpreter has a module; only where it is meant to does a test fail without it. */
async function requireModule(python: string, module: string): Promise<void> {
  const has = await run(python, ["-c", `import ${module}`]).then(
    () => true,
    () => false,
  );
  requirePresent(`the Python module ${module}`, has, undefined, false);
}

/** A host whose agent looks something up, attached to a console. @returns the URL of the agent as the console knows it */
async function startAgent(): Promise<string> {
  const shop = await fakeUpstream({ lookup: () => "green tea" });
  const host = await startHostProcess({
    port: await freePort(),
    agents: { research: { title: "Research", instructions: "Look.", servers: ["shop"] } },
    servers: { shop: { url: shop.url } },
    script: ({ tools, turn, results }) =>
      turn === 0
        ? { calls: [{ name: tools[0]!.name, args: {} }] }
        : { text: `found ${results.join()}` },
  });
  const running = await setupConsole({ allowedAddresses: ["127.0.0.1"] });
  const { body } = await running.ask<InstanceView>("POST", "/pallas", { registry_url: host.url });
  await running.ask("POST", "/workspaces", { id: "ws_a", name: "A" });
  await running.ask("PUT", `/workspaces/ws_a/teams/${body.id}`);
  const picker = await running.ask<{ agents: AgentView[] }>("GET", "/workspaces/ws_a/agents");
  return picker.body.agents[0]!.url;
}

it("18: the Python client uses an agent of the picker, with its health and nested progress", async () => {
  await requireModule(PYTHON, "mcp.client.streamable_http");
  const url = await startAgent();
  const { stdout } = await run(PYTHON, [join(HERE, "mcp-consumer.py"), url, "research"]);
  const said = JSON.parse(stdout) as {
    tools: string[];
    health: { status: string };
    text: string;
    reports: { message: string | null }[];
  };
  expect(said.tools.toSorted()).toEqual(["get_health", "research"]);
  expect(said.health.status).toBe("ok");
  expect(said.text).toContain("green tea");
  const messages = said.reports.map(({ message }) => message);
  expect(messages).toEqual(
    expect.arrayContaining([expect.stringMatching(/shop.*lookup.*: started$/)]),
  );
  expect(messages).toEqual(
    expect.arrayContaining([expect.stringMatching(/shop.*lookup.*: completed$/)]),
  );
});

it("18: fast-agent uses an agent of the picker as one of its servers", async () => {
  await requireModule(FAST_AGENT_PYTHON, "mcp_agent.core.fastagent");
  const url = await startAgent();
  const folder = makeFolder();
  const config = join(folder, "fastagent.config.yaml");
  const logger =
    "logger: { type: none, progress_display: false, show_chat: false, show_tools: false }";
  const server = `mcp: { servers: { team: { transport: http, url: "${url}" } } }`;
  writeFileSync(config, `default_model: passthrough\n${logger}\n${server}\n`);
  const message = '***CALL_TOOL team-research {"message":"tea"}';
  const script = join(HERE, "fast-agent-consumer.py");
  const { stdout } = await run(FAST_AGENT_PYTHON, [script, config, message], { cwd: folder });
  const said = JSON.parse(stdout.trim().split("\n").at(-1)!) as { tools: string[]; text: string };
  expect(said.tools).toEqual(expect.arrayContaining(["team-research", "team-get_health"]));
  expect(said.text).toContain("green tea");
});
