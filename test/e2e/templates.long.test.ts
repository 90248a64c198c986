import { cp, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectClient, freePort, setupGateway } from "../../core/testing/index.ts";
import { TEMPLATES as TEMPLATE_TABLE } from "../../templates/src/template.ts";
import { PATIENCE } from "../fixtures/ci.ts";
import { startModel } from "../fixtures/model/model.mjs";
import { makeFolder } from "../kit/folder.ts";

/** What else lies beside the templates. */
const NO_TEMPLATE = new Set([
  "src",
  "shared",
  // What --with cluster brings.
  "cluster",
  "dist",
  "node_modules",
  "package.json",
  "build.mjs",
  "README.md",
  "LICENSE",
]);

const TEMPLATES = fileURLToPath(new URL("../../templates", import.meta.url));
const KEY = "a-key-for-the-test-only";
const HOST_KEY = "another-key-for-the-test-only";
const headers = { authorization: `Bearer ${KEY}` };

/** A copy of a template and its variables, before a scripted model. */
async function fill(name: string): Promise<{ file: string; environment: Record<string, string> }> {
  const model = await startModel({});
  onTestFinished(() => model.close());
  const folder = makeFolder();
  await cp(join(TEMPLATES, name), folder, { recursive: true });
  // With the servers installed beside the config npx needs no network.
  await symlink(join(TEMPLATES, "../node_modules"), join(folder, "node_modules"));
  const environment = {
    GATEWAY_KEY: KEY,
    MODEL_URL: model.url,
    MODEL_API_KEY: "none",
    MODEL: "scripted",
    FOLDER: folder,
    NOTES: join(folder, "notes.jsonl"),
    SWITCHES: join(folder, "switches.json"),
  };
  return { file: join(folder, "gateway.yaml"), environment };
}

describe("templates", () => {
  it("are these", async () => {
    const known = TEMPLATE_TABLE.map(({ name }) => name as string);
    const there = (await readdir(TEMPLATES)).filter((name) => !NO_TEMPLATE.has(name));
    expect(there.toSorted()).toEqual(known.toSorted());
  });

  it(
    "P005: agent-team: runs with registry, get_health and progress, and the orchestrator has the others work with real servers",
    { timeout: PATIENCE * 60_000 },
    async () => {
      const { gateway, url } = await setupGateway({ ...(await fill("agent-team")), client: false });
      const endpoint = gateway.endpoints.find(({ name }) => name === "agent-orchestrator")!;
      const client = await connectClient(endpoint.url, { headers });
      onTestFinished(() => client.close());
      const tools = (await client.listTools()).tools.map(({ name }) => name);
      expect(tools).toEqual(["orchestrator", "get_health"]);
      // The servers take a moment to start; until then the agent says that it cannot work.
      const health = async (): Promise<unknown> => {
        const { content } = (await client.callTool({ name: "get_health" })) as {
          content: { text: string }[];
        };
        return JSON.parse(content[0]!.text);
      };
      await expect.poll(health).toMatchObject({ status: "ok" });
      const message =
        'use engineering {"message":"use read_text_file {\\"path\\":\\"README.md\\"}"}';
      const said: string[] = [];
      const { content } = await client.callTool(
        { name: "orchestrator", arguments: { message } },
        undefined,
        { onprogress: (report) => void said.push(report.message ?? "") },
      );
      expect(said).toContain("engineering/engineering: started");
      expect(JSON.stringify(content)).toContain("http://127.0.0.1:8080/mcp");
      const list = await (await fetch(`${url}/.well-known/mcp/server.json`)).text();
      expect(list).toContain("com.example/my-gateway-orchestrator");
    },
  );

  it(
    "newcomer 5: team-console and agent-team work together as the console's README says, with the key of the host",
    { timeout: PATIENCE * 60_000 },
    async () => {
      const port = await freePort();
      const host = await fill("agent-team");
      const team = await setupGateway({
        ...host,
        environment: {
          ...host.environment,
          GATEWAY_KEY: HOST_KEY,
          PORT: String(port),
        },
        ports: "written",
        client: false,
      });
      // Its servers take a moment to start, and an agent is asked how it is each minute.
      const isWell = async (): Promise<string> =>
        (
          await fetch(`${team.url}/healthz`, { headers: { authorization: `Bearer ${HOST_KEY}` } })
        ).text();
      await expect
        .poll(isWell, { timeout: PATIENCE * 30_000 })
        .not.toMatch(/error|unhealthy|degraded/);
      const { file, environment } = await fill("team-console");
      const own = {
        STORE: `sqlite:${join(environment.FOLDER!, "gateway.db")}`,
        SECRET_KEY: "what-seals-secrets-in-this-test-only",
      };
      const { url } = await setupGateway({
        file,
        environment: { ...environment, ...own },
        client: false,
      });
      const ask = async (method: string, path: string, body?: object): Promise<string> => {
        const reply = await fetch(`${url}/api/v1/${path}`, {
          method,
          headers: { ...headers, "content-type": "application/json" },
          ...(body && { body: JSON.stringify(body) }),
        });
        expect(reply.ok).toBe(true);
        return reply.text();
      };
      const registration = { registry_url: team.url, name: "Team", host_key: HOST_KEY };
      const { id } = JSON.parse(await ask("POST", "instances", registration)) as { id: string };
      await ask("POST", "workspaces", { id: "ws_work", name: "Work" });
      await ask("PUT", "workspaces/ws_work/teams", { teams: [id] });
      const healths = async (): Promise<unknown[]> =>
        (
          JSON.parse(await ask("GET", "workspaces/ws_work/agents")) as {
            agents: { id: string; health: { status: string } | null }[];
          }
        ).agents.map(({ health }) => health?.status);
      await expect.poll(healths, { timeout: PATIENCE * 30_000 }).toEqual(["ok", "ok", "ok"]);
      const { agents } = JSON.parse(await ask("GET", "workspaces/ws_work/agents")) as {
        agents: { id: string; server_id: string }[];
      };
      const { id: agent } = agents.find((each) => each.server_id.includes("engineering"))!;
      const message = 'use read_text_file {"path":"README.md"}';
      const said = await ask("POST", "workspaces/ws_work/chat", { agent, message });
      expect(said).toContain("http://127.0.0.1:8080/mcp");
    },
  );

  it(
    "A019, C15: lifecycle: an agent is started over MCP, works, completes and leaves a payload under the documented URL",
    { timeout: PATIENCE * 60_000 },
    async () => {
      const { file, environment } = await fill("lifecycle");
      const { client } = await setupGateway({
        file,
        environment: { ...environment, PUBLIC_URL: "http://localhost:8101" },
      });
      const call = async (name: string, args: Record<string, unknown>): Promise<unknown> => {
        const { content } = (await client.callTool({ name, arguments: args })) as {
          content: { text: string }[];
        };
        return JSON.parse(content[0]!.text);
      };
      const contract = 'use agent_complete {"summary":"Done.","payload":"the work"}';
      const { agent_id: id } = (await call("agent_start", { contract })) as { agent_id: string };
      await expect
        .poll(() => call("agent_status", { agent_ids: [id] }))
        .toEqual([
          expect.objectContaining({
            agent_id: id,
            status: "completed",
            summary: "Done.",
            payload_size: 8,
            payload_url: `http://localhost:8101/api/agents/${id}/payload`,
          }),
        ]);
    },
  );
});
