import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { connectClient } from "../../../core/testing/index.ts";
import { GATEWAY } from "./gateway.ts";
import {
  bundle,
  Folders,
  namesIn,
  propylon,
  serve,
  STDIO_SERVER,
  succeed,
  type Served,
} from "./kit.ts";

const KEY = "key-of-a-gateway-that-is-built-0123456789";
const ENVIRONMENT = { GATEWAY_KEY: KEY, PORT: "0", SERVER: STDIO_SERVER, GREETING: "hi" };
/** What is set while building; none of it may be found in the result. */
const CANARIES = {
  GATEWAY_KEY: "zanzibar-of-the-environment-0123456789",
  GREETING: "zanzibar-of-a-greeting",
};

const headers = { authorization: `Bearer ${KEY}`, "content-type": "application/json" };

describe.each(["propylon build", "vite", "esbuild"])("%s", (way) => {
  const isOwn = way === "propylon build";
  const folders = new Folders();
  let project: string;
  let output: string;
  let served: Served;

  beforeAll(async () => {
    project = await folders.project(GATEWAY);
    output = join(project, ".output");
    // PORT is not set at all: an image is built without what is only known where it runs.
    succeed(
      await (isOwn ? propylon(["build"], project, CANARIES) : bundle(way, project, CANARIES)),
    );
    const folder = await folders.moved(output);
    const words = isOwn ? [] : [join(project, "gateway.yaml")];
    served = await serve(folder, ENVIRONMENT, words);
  });

  afterAll(async () => {
    await served?.stop();
    await folders.remove();
  });

  it("writes one file, and the config where it is its own bundler", async () => {
    expect(await namesIn(output)).toEqual([...(isOwn ? ["gateway.yaml"] : []), "server.mjs"]);
  });

  it("holds no commands", async () => {
    const text = await readFile(join(output, "server.mjs"), "utf8");
    // Not toContain, which would print all of it.
    expect(text.includes("openapi.json")).toBe(true);
    // A flag of `propylon mcpo`, which the plugin brings.
    expect(text.includes("--client-header-forwarding")).toBe(false);
  });

  it("holds nothing for tables without a store that has them, and nothing of agents without agents", async () => {
    const text = await readFile(join(output, "server.mjs"), "utf8");
    // Of Kysely, and of what sets agents up.
    const words = ["SelectQueryBuilder", "Until then its calls are refused"];
    expect(words.filter((word) => text.includes(word))).toEqual([]);
  });

  it("serves MCP calls to a plugin and to a server over stdio", async () => {
    const client = await connectClient(`${served.url}/mcp`, { headers });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("echo__echo");
    const own = await client.callTool({ name: "echo__echo", arguments: { text: "you" } });
    expect(own.content).toEqual([{ type: "text", text: "hi you! 1 the end" }]);
    const relayed = await client.callTool({ name: "child__echo", arguments: { text: "far" } });
    expect(relayed.content).toEqual([{ type: "text", text: "far" }]);
    await client.close();
  });

  it("serves HTTP calls, routes of a package and of plugins", async () => {
    const get = (path: string): Promise<Response> => fetch(`${served.url}${path}`, { headers });
    const body = JSON.stringify({ text: "over HTTP" });
    const called = await fetch(`${served.url}/child/echo`, { method: "POST", headers, body });
    expect(await called.json()).toMatchObject({ ok: true, result: "over HTTP" });
    expect(await (await get("/clock")).json()).toEqual({ zone: "UTC" });
    expect(await (await get("/metrics")).text()).toContain("echo_calls_total");
    expect(await (await get("/docs")).text()).toContain("<!doctype html>");
    expect(await (await get("/child/openapi.json")).json()).toMatchObject({ openapi: "3.1.0" });
  });

  it("tells of events over WebSocket", async () => {
    const socket = new WebSocket(`${served.url.replace("http", "ws")}/_meta/events`, { headers });
    const opened = new Promise((resolve, reject) => {
      socket.once("message", (data: Buffer) => resolve(JSON.parse(data.toString("utf8"))));
      socket.once("error", reject);
    });
    expect(await opened).toBeTypeOf("object");
    socket.close();
  });

  it("holds no path of the machine and nothing of the environment or the .env it was built with", async () => {
    const text = await readFile(join(output, "server.mjs"), "utf8");
    const traces = [/zanzibar.{40}/g, /["'`](?:\/home|\/root|\/work|\/tmp)\/.{40}/g];
    expect(traces.flatMap((trace) => text.match(trace) ?? [])).toEqual([]);
    expect(text.includes(project)).toBe(false);
  });
});
