import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { pino } from "pino";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { createFileGateway, type Gateway } from "../../../core/index.ts";
import { connectClient } from "../../../core/testing/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import type { ModelServer } from "../../fixtures/model/types.ts";
import { makeFolder } from "../../kit/folder.ts";

const FILE = new URL("../../../playground/team/gateway.yaml", import.meta.url).pathname;

/** What an agent answered, and what it said on the way. */
interface Talk {
  readonly text: string;
  readonly messages: readonly string[];
  readonly values: readonly number[];
  /** Messages of the reports that say that something ended. */
  readonly ends: readonly string[];
}

/** A progress report, as far as tests look. */
interface Report {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

/** Asks an agent with a client of one of the SDKs. */
type Ask = (url: string, agent: string, message: string) => Promise<Talk>;

function talkOf(content: unknown, reports: readonly Report[]): Talk {
  return {
    text: (content as { text: string }[])[0]!.text,
    messages: reports.map(({ message = "" }) => message),
    values: reports.map(({ progress }) => progress),
    ends: reports.flatMap(({ progress, total, message = "" }) =>
      progress === total ? [message] : [],
    ),
  };
}

const askWithOldSdk: Ask = async (url, agent, message) => {
  const client = await connectClient(url);
  const reports: Report[] = [];
  const call = { name: agent, arguments: { message } };
  const onprogress = (report: Report): void => void reports.push(report);
  const { content } = await client.callTool(call, undefined, { onprogress });
  await client.close();
  return talkOf(content, reports);
};

const askWithNewSdk: Ask = async (url, agent, message) => {
  const versionNegotiation = { mode: { pin: "2026-07-28" } };
  const client = new Client({ name: "team-test", version: "1.0.0" }, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const reports: Report[] = [];
  const onprogress = (report: Report): void => void reports.push(report);
  const { content } = await client.callTool(
    { name: agent, arguments: { message } },
    { onprogress },
  );
  await client.close();
  return talkOf(content, reports);
};

let gateway: Gateway;
let model: ModelServer;
let folder: string;

beforeAll(async () => {
  model = await startModel();
  folder = makeFolder();
  const ports = ["PORT", "REGISTRY_PORT", "RESEARCH_PORT", "ENGINEERING_PORT", "ORCHESTRATOR_PORT"];
  gateway = await createFileGateway(FILE, {
    environment: {
      ...Object.fromEntries(ports.map((name) => [name, "0"])),
      MODEL_URL: model.url,
      FOLDER: folder,
      MEMORY_FILE: join(folder, "memory.jsonl"),
    },
    log: pino({ level: "silent" }),
  });
  await gateway.listen();
  await new Promise<void>((resolve) => {
    const look = (): void => {
      const names = ["memory", "filesystem"];
      if (names.every((name) => gateway.servers.get(name)?.status.state === "ready")) resolve();
    };
    gateway.hook("server:state", look);
    look();
  });
});

afterAll(async () => {
  await gateway.close({ grace: 0 });
  await model.close();
});

function urlOf(agent: string): string {
  return gateway.endpoints.find(({ name }) => name === `agent-${agent}`)!.url;
}

const CLIENTS: readonly (readonly [name: string, ask: Ask])[] = [
  ["sdk 1.32", askWithOldSdk],
  ["a modern client", askWithNewSdk],
];

describe("the playground team", () => {
  it("P006, P039, P127, T006: the registry lists it, and every URL in it is an MCP endpoint that a client can use", async () => {
    const { url } = gateway.addresses.get("registry")!;
    const list = (await (await fetch(`${url}/.well-known/mcp/server.json`)).json()) as {
      servers: { server: { name: string; remotes: { type: string; url: string }[] } }[];
    };
    expect(list.servers.map(({ server }) => server.name)).toEqual([
      "com.example/team-research",
      "com.example/team-engineering",
      "com.example/team-orchestrator",
    ]);
    for (const { server } of list.servers) {
      const client = await connectClient(server.remotes[0]!.url);
      const agent = server.name.replace("com.example/team-", "");
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual([agent, "get_health"]);
      await client.close();
    }
  });

  it.each(CLIENTS)("P011, P097: %s asks research, which uses a real MCP server", async (_, ask) => {
    const { text, messages, values } = await ask(
      urlOf("research"),
      "research",
      "read_graph please",
    );
    expect(text).toContain('"entities"');
    expect(messages).toEqual([
      "research step 1 (llm)",
      "research step 2 (tool)",
      "memory/read_graph: started",
      "memory/read_graph: completed",
      "research step 3 (llm)",
    ]);
    expect(values.every((value, at) => at === 0 || value > values[at - 1]!)).toBe(true);
  });

  it.each(CLIENTS)("P128: %s has engineering write a file and read it again", async (_, ask) => {
    const path = join(folder, "note.txt");
    const order = [
      `use write_file ${JSON.stringify({ path, content: "by an agent" })}`,
      "then",
      `use read_text_file ${JSON.stringify({ path })}`,
    ];
    const { text, messages } = await ask(urlOf("engineering"), "engineering", order.join("\n"));
    expect(text).toContain("by an agent");
    expect(await readFile(path, "utf8")).toBe("by an agent");
    expect(messages).toContain("filesystem/write_file: completed");
  });

  it.each(CLIENTS)(
    "P011, P123: %s asks the orchestrator, and the progress of the agents it asks arrives in order",
    async (_, ask) => {
      const message = "Let research read_graph and engineering list_allowed_directories.";
      const { text, messages, values, ends } = await ask(
        urlOf("orchestrator"),
        "orchestrator",
        message,
      );
      expect(text).toContain('"entities"');
      expect(text).toContain(folder);
      const only = (part: string): string[] => messages.filter((line) => line.includes(part));
      expect(only("orchestrator step")).toEqual([
        "orchestrator step 1 (llm)",
        "orchestrator step 2 (tool)",
        "orchestrator step 3 (llm)",
      ]);
      expect(messages.filter((line) => /^research|^memory/.test(line))).toEqual([
        "research/research: started",
        "research/research: research step 1 (llm)",
        "research/research: research step 2 (tool)",
        "memory/read_graph: started",
        "memory/read_graph: completed",
        "research/research: research step 3 (llm)",
        "research/research: completed",
      ]);
      expect(messages.filter((line) => /^engineering|^filesystem/.test(line))).toEqual([
        "engineering/engineering: started",
        "engineering/engineering: engineering step 1 (llm)",
        "engineering/engineering: engineering step 2 (tool)",
        "filesystem/list_allowed_directories: started",
        "filesystem/list_allowed_directories: completed",
        "engineering/engineering: engineering step 3 (llm)",
        "engineering/engineering: completed",
      ]);
      expect(values.every((value, at) => at === 0 || value > values[at - 1]!)).toBe(true);
      expect(ends.toSorted()).toEqual(
        messages.filter((line) => line.endsWith(": completed")).toSorted(),
      );
    },
  );

  it("P010: health is answered in code: no model is asked, whatever the endpoint", async () => {
    const before = model.requests.length;
    for (const agent of ["research", "engineering", "orchestrator"]) {
      const client = await connectClient(urlOf(agent));
      const { content } = await client.callTool({ name: "get_health" });
      const [block, ...others] = content as { type: string; text: string }[];
      expect(others).toEqual([]);
      expect(JSON.parse(block!.text)).toMatchObject({ status: "ok" });
      await client.close();
    }
    expect(model.requests.length).toBe(before);
  });

  it("the default endpoint shows the servers and not the agents", async () => {
    const client = await connectClient(gateway.endpoints.find(({ name }) => name === "mcp")!.url);
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toContain("read_graph");
    expect(
      names.filter((name) => /research|engineering|orchestrator|get_health/.test(name)),
    ).toEqual([]);
    await client.close();
  });
});
