import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import type { ChatMessage } from "../../../plugins/agents/model.ts";
import { createModel } from "../../../plugins/agents/models/models.ts";
import { providersSchema } from "../../../plugins/agents/models/options.ts";
import { load } from "../../../plugins/agents/models/provider.ts";
import { modelOf, start, user } from "./start.ts";

const PNG = "iVBORw0KGgo=";
const never = new AbortController().signal;
const tools = [{ name: "shoot", description: "Takes a picture.", inputSchema: { type: "object" } }];

/** A conversation in which a tool returned a text and an image. */
const messages: ChatMessage[] = [
  user("Look."),
  {
    role: "assistant",
    parts: [{ type: "tool-call", id: "c1", name: "shoot", args: { at: "cat" } }],
  },
  {
    role: "tool",
    parts: [
      {
        type: "tool-result",
        id: "c1",
        name: "shoot",
        isError: false,
        parts: [
          { type: "text", text: "Taken." },
          { type: "image", mimeType: "image/png", data: PNG },
        ],
      },
    ],
  },
];

describe("images in tool results", () => {
  it.each(["openai-compatible", "openai"])(
    "P124: follow in a message of the user for %s, whose tool results are text",
    async (type) => {
      const server = await start([{ text: "A cat." }]);
      const model = modelOf(server, { type, apiKey: "k" });
      const reply = await model.generate({ system: "", messages, tools }, never);
      expect(reply.parts).toMatchObject([{ type: "text", text: "A cat." }]);
      expect(server.requests[0]!.body["messages"]).toMatchObject([
        { role: "user" },
        { role: "assistant", tool_calls: [{ id: "c1" }] },
        {
          role: "tool",
          tool_call_id: "c1",
          content: "Taken.\n[image/png: shown in the next message]",
        },
        {
          role: "user",
          content: [
            { type: "text", text: "Images that shoot returned:" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${PNG}` } },
          ],
        },
      ]);
    },
  );

  it("P124: stay inside the tool result for Anthropic", async () => {
    const server = await start(
      [{ text: "A ca", calls: [{ name: "shoot", args: { at: "dog" }, id: "c2" }] }],
      { key: "k" },
    );
    const model = modelOf(server, { type: "anthropic", apiKey: "k" });
    const reply = await model.generate({ system: "Be brief.", messages, tools }, never);
    expect(reply).toMatchObject({
      parts: [
        { text: "A ca" },
        { type: "tool-call", id: "c2", name: "shoot", args: { at: "dog" } },
      ],
      finish: "tool-calls",
      usage: { inputTokens: 10, outputTokens: 5 },
    });
    const [request] = server.requests;
    expect(request!.path).toBe("/v1/messages");
    expect(request!.headers["x-api-key"]).toBe("k");
    expect(request!.body).toMatchObject({
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        { role: "user" },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", input: { at: "cat" } }] },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "c1",
              content: [
                { type: "text", text: "Taken." },
                { type: "image", source: { type: "base64", media_type: "image/png", data: PNG } },
              ],
            },
          ],
        },
      ],
    });
  });

  it("streams from Anthropic", async () => {
    const server = await start([
      { text: "one two", calls: [{ name: "shoot", args: { at: "x" } }] },
    ]);
    const pieces: string[] = [];
    const model = modelOf(server, { type: "anthropic", apiKey: "k" });
    const onText = (text: string): void => void pieces.push(text);
    const reply = await model.generate(
      { system: "", messages: [user("Hi.")], tools, onText },
      never,
    );
    expect(pieces).toEqual(["one ", "two"]);
    expect(reply.parts).toMatchObject([{ text: "one two" }, { name: "shoot", args: { at: "x" } }]);
  });
});

describe("preflight", () => {
  const types = [["openai-compatible"], ["openai"], ["anthropic"]];

  it.each(types)("asks %s for its models and spends no tokens", async (type) => {
    const server = await start([], { key: "right", models: ["l", "m"] });
    const good = await modelOf(server, { type, apiKey: "right" }).preflight(never);
    expect(good).toEqual({ provider: "p", model: "m", status: "ok" });
    const bad = await modelOf(server, { type, apiKey: "wrong-key-1" }).preflight(never);
    expect(bad).toEqual({
      provider: "p",
      model: "m",
      status: "error",
      message: 'Provider "p" of model "m" refuses the key (HTTP 401).',
    });
    expect(server.lookups).toBe(1);
    expect(server.requests).toHaveLength(0);
  });

  it.each(types)("says when %s does not have the model", async (type) => {
    const server = await start([], { key: "right", models: ["other"] });
    expect(await modelOf(server, { type, apiKey: "right" }).preflight(never)).toEqual({
      provider: "p",
      model: "m",
      status: "error",
      message: 'Provider "p" of model "m" does not have it (HTTP 404).',
    });
  });

  it("takes a model that is not in the list and is there when it is asked for", async () => {
    // An alias, or what comes on a further page of the list.
    const server = await start([], { models: ["m-2026-11-01"], unlisted: ["m"] });
    expect((await modelOf(server).preflight(never)).status).toBe("ok");
  });

  it.each([
    ["a page", "<html>"],
    ["another shape", '{"models":[{"name":"x"}]}'],
    ["a list of nothing that has an id", '{"data":[null,1,{"id":5}]}'],
    ["more than anybody reads", `{"data":[],"more":"${"x".repeat(9_000_000)}"}`],
  ])("takes %s in place of the list for an answer that names no models", async (_, text) => {
    const http = createHttp((_req, res) => void res.end(text)).listen(0, "127.0.0.1");
    onTestFinished(() => void http.close());
    await once(http, "listening");
    const { port } = http.address() as AddressInfo;
    const said = await modelOf({ url: `http://127.0.0.1:${port}/v1` }).preflight(never);
    expect(said.status).toBe("ok");
  });

  it("says what is wrong with a provider that fails, or is not there", async () => {
    const server = await start([], { lookup: 503 });
    const model = modelOf(server);
    expect(await model.preflight(never)).toMatchObject({
      status: "error",
      message: 'Provider "p" of model "m" fails (HTTP 503).',
    });
    await server.close();
    expect((await model.preflight(never)).message).toContain("the connection was refused");
  });

  it("waits no longer than its caller", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    onTestFinished(() => void silent.close());
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const model = modelOf({ url: `http://127.0.0.1:${port}/v1` });
    expect(await model.preflight(AbortSignal.timeout(50))).toMatchObject({
      status: "error",
      message: 'Provider "p" of model "m" does not answer in time.',
    });
  });

  it("asks nobody where health is none", async () => {
    const model = createModel(
      "p/m",
      providersSchema.parse({
        p: { type: "openai-compatible", baseUrl: "http://127.0.0.1:1", health: "none" },
      }),
    );
    expect(await model.preflight(never)).toEqual({ provider: "p", model: "m", status: "unknown" });
  });

  it("keeps the key to itself where health is on another host", async () => {
    const server = await start([], { key: "right" });
    const other = await start([], { key: "right" });
    const model = modelOf(server, { apiKey: "right", health: `${other.url}/models` });
    expect((await model.preflight(never)).status).toBe("error");
    expect(other.lookups).toBe(0);
    const own = modelOf(server, { apiKey: "right", health: `${server.url}/models` });
    expect((await own.preflight(never)).status).toBe("ok");
  });
});

it("a package that is not installed is named, with the command that installs it", async () => {
  // Not written out, so that nothing resolves it before the test runs.
  const name = ["@ai-sdk", "not-installed"].join("/");
  await expect(load(name, () => import(name))).rejects.toMatchObject({
    code: "invalid",
    message: `Agents with a model need the package "${name}".`,
    hint: `Run: npm install ai ${name}`,
  });
});

interface Example {
  readonly plugins: { readonly agents: { readonly providers: unknown } };
}

describe("the page about models", () => {
  const page = readFileSync(new URL("../../../docs/guide/models.md", import.meta.url), "utf8");

  it("shows providers that are valid", () => {
    const example = parse(/```yaml\n([^]*?)```/.exec(page)![1]!) as Example;
    const { providers } = example.plugins.agents;
    expect(Object.keys(providersSchema.parse(providers))).toEqual(["local", "openai", "claude"]);
  });

  it("names every option and its default", () => {
    const { p } = providersSchema.parse({ p: { type: "openai", apiKey: "k" } });
    const rows = [...page.matchAll(/^\| `(\w+)` +\| (.*?) *\|/gm)];
    const told = new Map(rows.map(([, name, value]) => [name, value]));
    for (const name of [...Object.keys(p!), "health"]) expect([...told.keys()]).toContain(name);
    expect(told.get("retries")).toBe(`\`${p!.retries}\``);
    expect(told.get("backoff")).toBe(`\`${p!.backoff}ms\``);
    expect(told.get("maxWait")).toBe(`\`${p!.maxWait / 1_000}s\``);
    expect(told.get("timeout")).toBe(`\`${p!.timeout / 60_000}m\``);
  });
});
