import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { afterEach, describe, expect, it } from "vitest";
import { fixture, record } from "./kit.ts";

const script = fixture("scripted-server.mjs");
const servers: ChildProcess[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.kill();
});

/** Starts the server over HTTP; resolves with its URL. */
async function serve(...flags: string[]): Promise<URL> {
  const server = spawn(process.execPath, [script, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  servers.push(server);
  for await (const line of createInterface({ input: server.stdout }))
    return new URL((JSON.parse(line) as { url: string }).url);
  throw new Error("The server did not start.");
}

const transports: Record<string, () => Promise<Transport>> = {
  stdio: async () => new StdioClientTransport({ command: "node", args: [script] }),
  http: async () => new StreamableHTTPClientTransport(await serve("--http")),
  sse: async () => new SSEClientTransport(await serve("--sse")),
};

function text(result: object): string {
  return (result as { content: { text: string }[] }).content[0]?.text ?? "";
}

describe("scripted server", () => {
  it.each(Object.keys(transports))(
    "is a regular server to the 1.x client over %s",
    async (kind) => {
      const client = new Client({ name: "test", version: "1" }, { capabilities: { roots: {} } });
      client.setRequestHandler(
        (await import("@modelcontextprotocol/sdk/types.js")).ListRootsRequestSchema,
        () => ({ roots: [{ uri: "file:///root" }] }),
      );
      const changed = new Promise((settle) =>
        client.setNotificationHandler(ToolListChangedNotificationSchema, settle),
      );
      const updated = new Promise((settle) =>
        client.setNotificationHandler(ResourceUpdatedNotificationSchema, settle),
      );
      await client.connect(await transports[kind]!());
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toContain("garbage");
      expect(text(await client.callTool({ name: "echo", arguments: { text: "é" } }))).toBe("é");
      const reports = async (): Promise<number[]> => {
        const seen: number[] = [];
        const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
        const asked = { name: "progress", arguments: { count: 5, every: 5 } };
        await client.callTool(asked, undefined, { onprogress });
        expect(seen).toEqual([1, 2, 3, 4, 5].slice(0, seen.length));
        return seen;
      };
      // This client drops reports that it reads in one chunk with the answer: all of them, where it had to wait for the CPU.
      await expect.poll(reports).not.toEqual([]);
      expect(
        text(await client.callTool({ name: "ask", arguments: { method: "roots/list" } })),
      ).toContain("file:///root");
      expect((await client.callTool({ name: "tool-error", arguments: {} })).isError).toBe(true);
      await expect(
        client.callTool({ name: "error", arguments: { code: -32001 } }),
      ).rejects.toMatchObject({ code: -32001 });
      await expect(
        client.callTool({ name: "hang", arguments: {} }, undefined, { timeout: 50 }),
      ).rejects.toThrow("timed out");
      const facts = async () =>
        JSON.parse(text(await client.callTool({ name: "facts", arguments: {} }))) as {
          cancelled: string[];
        };
      await expect.poll(async () => (await facts()).cancelled).toEqual(["hang"]);
      await client.subscribeResource({ uri: "file:///one" });
      // Over HTTP the stream for such news may open only now.
      await expect
        .poll(
          async () => (
            await client.callTool({ name: "change", arguments: {} }),
            Promise.race([changed, Promise.resolve(false)])
          ),
        )
        .toBeTruthy();
      await client.callTool({ name: "update", arguments: { uri: "file:///one" } });
      await updated;
      expect((await client.readResource({ uri: "file:///one" })).contents).toHaveLength(1);
      expect((await client.getPrompt({ name: "greet" })).messages).toHaveLength(1);
      await client.close();
    },
  );

  it("is a regular server to the 2.x client in the modern era", async () => {
    const client = new ModernClient(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    await client.connect(new ModernHttp(await serve("--http", "--era", "modern")));
    expect(client.getProtocolEra()).toBe("modern");
    expect((await client.listTools()).tools.length).toBeGreaterThan(20);
    expect(text(await client.callTool({ name: "echo", arguments: { text: "é" } }))).toBe("é");
    await client.close();
  });

  it("misbehaves on the wire as told", async () => {
    const channel = await record("node", [script, "--tools", 3, "--page", 10]);
    const call = (id: number, name: string, args: object = {}) =>
      channel.send(
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          method: "tools/call",
          params: { name, arguments: args },
        }),
      );
    call(1, "duplicate");
    call(2, "wrong-id");
    call(3, "both");
    call(4, "batch");
    call(5, "id-type");
    call(6, "garbage");
    await channel.until((message) => message.includes('"id":6'));
    const messages = channel.messages;
    expect(messages.filter((message) => message.includes('"id":1,'))).toHaveLength(2);
    expect(messages.some((message) => message.includes('"id":"nobody"'))).toBe(true);
    expect(
      messages.some((message) => message.includes('"id":3') && message.includes('"error"')),
    ).toBe(true);
    expect(messages.some((message) => message.startsWith('[{"jsonrpc"'))).toBe(true);
    expect(messages.some((message) => message.includes('"id":"5"'))).toBe(true);
    expect(messages.filter((message) => message === "this is { no JSON")).toHaveLength(3);
    channel.send(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list" }));
    expect(await channel.until((message) => message.includes('"id":7'))).toContain(
      '"nextCursor":"10"',
    );
    call(8, "crash", { code: 7 });
    expect(await channel.ended).toMatchObject({ data: { exitCode: 7 } });
  });

  it.each([
    ["http", { status: 429, headers: { "retry-after": "3" }, body: "slow down" }, 429],
    ["garbage", {}, 200],
  ])("answers HTTP as told: %s", async (name, args, status) => {
    const url = await serve("--http", "--session", "none");
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: args },
    });
    const response = await fetch(url, { method: "POST", body });
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain("jsonrpc");
  });

  it.each(["cut", "partial"])("cuts a connection as told: %s", async (name) => {
    const url = await serve("--http", "--session", "none");
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name, arguments: { bytes: 30 } },
    });
    const response = await fetch(url, { method: "POST", body });
    await expect(response.text()).rejects.toThrow("terminated");
  });

  it("forgets its sessions as told, and refuses everyone as told", async () => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(await serve("--http")));
    await client.callTool({ name: "forget", arguments: {} });
    await expect(client.callTool({ name: "echo", arguments: {} })).rejects.toThrow(
      "Session not found",
    );
    expect(
      (await fetch(await serve("--http", "--status", "401"), { method: "POST", body: "{}" }))
        .status,
    ).toBe(401);
  });
});
