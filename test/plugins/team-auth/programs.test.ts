import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { definePlugin } from "propylon";
import { Libraries } from "propylon/plugins/team-auth";
import { expect, it, onTestFinished } from "vitest";
import { connectClient, connectModernClient } from "../../../core/testing/index.ts";
import { requirePresent } from "../../fixtures/programs.ts";
import { deferred } from "../../kit/deferred.ts";
import { makeFolder } from "../../kit/folder.ts";
import { type RunningIssuer, startIssuer } from "./issuer.ts";

/** Neither npm nor apt brings these for Node.js 20, so not in CI either: the variables name what is installed elsewhere. */
const PYTHON = process.env["PYTHON"] ?? "python3";
const INSPECTOR = process.env["INSPECTOR"];
const HERE = fileURLToPath(new URL(".", import.meta.url));
const MCP_REMOTE = fileURLToPath(
  new URL("../../../node_modules/mcp-remote/dist/proxy.js", import.meta.url),
);
const REVOKED = /credential was revoked|terminated|closed|Unauthorized|401/i;

/** A gateway, a user's token, and the end of both. */
interface Rig {
  readonly endpoint: string;
  readonly token: string;
  readonly issuer: RunningIssuer;
  /** Resolves when the tool `wait` runs. */
  readonly waiting: Promise<void>;
  readonly revoke: () => Promise<void>;
}

async function setup(): Promise<Rig> {
  const { promise: waiting, resolve: started } = deferred();
  const reader = definePlugin({
    name: "reader",
    inject: { libraries: Libraries },
    setup(gateway) {
      const { libraries } = gateway.services;
      gateway.tool("sees", {
        description: "Lists what the caller sees.",
        run: (_, { principal }) => libraries.of(principal).join(" "),
      });
      gateway.tool("wait", {
        description: "Runs until it is cancelled.",
        run: (_, { signal }) =>
          new Promise<string>((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
            started();
          }),
      });
    },
  });
  const issuer = await startIssuer({}, { plugins: [reader] });
  const { admin, url } = issuer;
  await admin("POST", "/users", { body: { id: "ada" } });
  await admin("POST", "/libraries", { body: { uid: "lib-a", owner: "ada" } });
  const { body } = await admin("POST", "/tokens", {
    body: { user: "ada", name: "laptop", libraries: ["lib-a"] },
  });
  const revoke = async (): Promise<void> => {
    const { status } = await admin("DELETE", `/tokens/${body.token.id as string}`);
    expect(status).toBeLessThan(300);
  };
  return { endpoint: `${url}/mcp`, token: body.secret as string, issuer, waiting, revoke };
}

const headersOf = (token: string): { readonly authorization: string } => ({
  authorization: `Bearer ${token}`,
});

/** As a client that was given no token, or one that counts no more, is answered. */
async function expectChallenge({ endpoint, token }: Rig): Promise<void> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
  const headers = { "content-type": "application/json", accept: "application/json" };
  for (const own of [{}, headersOf(token)]) {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: { ...headers, ...own },
      body,
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toMatch(/^Bearer /);
  }
}

interface McpClient {
  listTools(): Promise<{ tools: readonly { readonly name: string }[] }>;
  callTool(params: { name: string }): Promise<unknown>;
  close(): Promise<void>;
}

/** Lists and calls; then its token is revoked while a call of it runs. @returns how that ended */
async function use(rig: Rig, client: McpClient): Promise<string> {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).toSorted()).toEqual(["sees", "wait"]);
  expect(await client.callTool({ name: "sees" })).toMatchObject({ content: [{ text: "lib-a" }] });
  const running = client.callTool({ name: "wait" }).then(
    (result) => JSON.stringify(result),
    (error: unknown) => String(error),
  );
  await rig.waiting;
  await rig.revoke();
  await expectChallenge(rig);
  return running;
}

it.each([
  ["1.x", connectClient],
  ["2.x", connectModernClient],
] as const)("the TypeScript SDK %s uses a token until it is revoked", async (_, connect) => {
  const rig = await setup();
  const client = await connect(rig.endpoint, { headers: headersOf(rig.token) });
  onTestFinished(() => client.close());
  expect(await use(rig, client)).toMatch(REVOKED);
  await expect(connect(rig.endpoint, { headers: headersOf(rig.token) })).rejects.toThrow(
    /401|Unauthorized/i,
  );
});

it("mcp-remote uses a token until it is revoked", async () => {
  const rig = await setup();
  const folder = makeFolder();
  const header = `Authorization:Bearer ${rig.token}`;
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, rig.endpoint, "--transport", "http-only", "--header", header],
    env: { PATH: folder, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder },
    stderr: "ignore",
  });
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(transport);
  expect(await use(rig, client)).toMatch(REVOKED);
});

it("the official Python client uses a token until it is revoked", async (context) => {
  const found = await promisify(execFile)(PYTHON, [
    "-c",
    "from mcp.client.streamable_http import create_mcp_http_client",
  ]).catch(() => undefined);
  requirePresent("the Python package mcp", found !== undefined, context, false);
  const rig = await setup();
  const child = spawn(PYTHON, [join(HERE, "python-client.py"), rig.endpoint, rig.token], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill());
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  const revoked = rig.waiting.then(rig.revoke);
  const told: string[] = [];
  for await (const line of createInterface(child.stdout)) told.push(line);
  await revoked;
  expect({ told, errors: told.length === 3 ? "" : errors }).toEqual({
    told: ["tools sees wait", "sees lib-a", expect.stringMatching(REVOKED)],
    errors: "",
  });
  await expectChallenge(rig);
});

it("the Inspector uses a token until it is revoked", async (context) => {
  requirePresent("the Inspector (variable INSPECTOR)", INSPECTOR !== undefined, context, false);
  const rig = await setup();
  const run = async (...words: string[]): Promise<string> => {
    const header = `Authorization: Bearer ${rig.token}`;
    const args = ["--cli", rig.endpoint, "--transport", "http", "--header", header, ...words];
    return promisify(execFile)(INSPECTOR!, args).then(
      ({ stdout }) => stdout,
      (error: Error & { stderr: string; stdout: string }) => `${error.stdout}${error.stderr}`,
    );
  };
  expect(await run("--method", "tools/list")).toMatch(/"sees"[^]*"wait"/);
  expect(await run("--method", "tools/call", "--tool-name", "sees")).toContain("lib-a");
  const running = run("--method", "tools/call", "--tool-name", "wait");
  await rig.waiting;
  await rig.revoke();
  expect(await running).toMatch(REVOKED);
  expect(await run("--method", "tools/list")).toMatch(/401|Unauthorized|auth/i);
  await expectChallenge(rig);
});
