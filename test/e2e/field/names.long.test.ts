import { writeFileSync } from "node:fs";
import { join } from "node:path";
import openapi from "../../../plugins/openapi/index.ts";
import { connectModernClient } from "propylon/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { anyTool, fieldServer } from "../../fixtures/field/servers.ts";
import { makeFolder } from "../../kit/folder.ts";
import { callText, serverIsReady, startField, toolNames } from "./kit.ts";

/** 51 characters: fits alone, and not with the name of either server before it. */
const LONG = "list_invoices_of_customer_with_line_items_and_taxes";

describe("two instances of one server with long names", () => {
  const billing = (who: string) => fieldServer({ who, tools: [anyTool(LONG), anyTool("short")] });

  it("mcp-07: lose no tool, and each is called at its own", async () => {
    const one = await startField({ servers: { "production-billing": billing("production") } });
    expect(await toolNames(one.client)).toEqual([LONG, "short"]);
    const { client } = await startField({
      servers: {
        "production-billing": billing("production"),
        "staging-billing": billing("staging"),
      },
    });
    const names = await toolNames(client);
    expect(names).toHaveLength(4);
    const texts = await Promise.all(names.map((name) => callText(client, name)));
    const wanted = ["production", "staging"].flatMap((who) => [`${who} ${LONG}`, `${who} short`]);
    expect(texts.map((said) => said.split(" ").slice(0, 2).join(" "))).toEqual(wanted);
    for (const name of names) expect(name).toMatch(/^[\w.-]{1,64}$/);
  });

  it("mcp-07: the same goes for their prompts", async () => {
    const prompts = [{ name: LONG }];
    const { client } = await startField({
      servers: {
        "production-billing": fieldServer({ who: "production", prompts }),
        "staging-billing": fieldServer({ who: "staging", prompts }),
      },
    });
    const listed = await client.listPrompts();
    const said = await Promise.all(
      listed.prompts.map(async ({ name }) => (await client.getPrompt({ name })).messages),
    );
    expect(said).toMatchObject([
      [{ content: { text: `production ${LONG}` } }],
      [{ content: { text: `staging ${LONG}` } }],
    ]);
  });

  it.each([
    ["65 characters", "x".repeat(65)],
    ["128 characters", "y".repeat(128)],
    ["a slash", "files/read"],
    ["a blank and letters outside of ASCII", "Zahl 日"],
  ])("mcp-07: a tool whose name has %s is listed and called", async (_what, name) => {
    const { client, gateway } = await startField({
      servers: { one: fieldServer({ tools: [anyTool(name)] }) },
    });
    const [exposed] = await toolNames(client);
    expect(exposed).toMatch(/^[\w.-]{1,64}$/);
    expect(await callText(client, exposed!)).toContain(`field ${name} 1`);
    const modern = await connectModernClient(gateway.endpoints[0]!.url);
    onTestFinished(() => modern.close());
    expect((await modern.listTools()).tools.map((tool) => tool.name)).toEqual([exposed]);
  });
});

describe("a tool of a child that is starting", () => {
  const start = async () => {
    const folder = makeFolder();
    const gate = join(folder, "open");
    const servers = {
      late: fieldServer({
        who: "late",
        gate,
        tools: [anyTool("send")],
        prompts: [{ name: "ask" }],
      }),
      there: fieldServer({ who: "there", tools: [anyTool("read")] }),
    };
    const started = await startField({ servers }, { plugins: [openapi], ready: ["there"] });
    return { ...started, open: () => writeFileSync(gate, "") };
  };

  it("mcp-19: is called once the child is there, by a client that knows its name", async () => {
    const { client, open } = await start();
    const called = callText(client, "late__send");
    const got = client.getPrompt({ name: "late__ask" });
    open();
    expect(await called).toBe("late send 1 {}");
    expect(await got).toMatchObject({ messages: [{ content: { text: "late ask" } }] });
  });

  it("mcp-19: is called over HTTP once the child is there", async () => {
    const { url, open } = await start();
    const called = fetch(`${url}/late/send`, { method: "POST" });
    open();
    const response = await called;
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining("late"),
    ]);
  });

  it("mcp-19: is refused with the name of its server where that does not come", async () => {
    const { client, gateway, url } = await startField(
      {
        servers: {
          late: { command: "field-no-such-command" },
          there: fieldServer({ tools: [anyTool("read")] }),
        },
      },
      { plugins: [openapi], ready: ["there"] },
    );
    await expect.poll(() => gateway.servers.get("late")!.status.state).toBe("backoff");
    await expect(callText(client, "late__send")).rejects.toThrow(
      /server late, which could not be reached/,
    );
    await expect(callText(client, "nonsense")).rejects.toThrow(/Unknown tool: nonsense|late/);
    const response = await fetch(`${url}/late/send`, { method: "POST" });
    expect(response.status).toBe(503);
  });
});

describe("two servers with one resource and one template", () => {
  const house = (who: string) =>
    fieldServer({
      who,
      resources: [{ uri: "timezone://info", name: "info" }],
      templates: [{ uriTemplate: "file:///{+path}", name: "file" }],
    });
  const start = () => startField({ servers: { one: house("one"), two: house("two") } });

  it("mcp-22: both are listed, and each is read from its own server", async () => {
    const { client } = await start();
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual([
      "timezone://info",
      "propylon://two/timezone://info",
    ]);
    const texts = await Promise.all(
      resources.map(async ({ uri }) => (await client.readResource({ uri })).contents),
    );
    expect(texts.flat()).toMatchObject([
      { text: expect.stringMatching(/^one /) as string },
      { text: expect.stringMatching(/^two /) as string },
    ]);
  });

  it("mcp-22: what the second has by its template is read at its own URI", async () => {
    const { client } = await start();
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "file:///{+path}",
      "propylon://two/file:///{+path}",
    ]);
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read("file:///a/b")).toMatchObject({ text: "one file:///a/b" });
    expect(await read("propylon://two/file:///a/b")).toMatchObject({ text: "two file:///a/b" });
  });

  it("mcp-22: a server that has gone leaves its URI to nobody else", async () => {
    const { client, gateway } = await start();
    await serverIsReady(gateway, "two");
    await client.listResources();
    await gateway.apply({
      listeners: { main: { port: 0 } },
      servers: { two: house("two") },
    });
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    await expect(read("timezone://info")).rejects.toThrow(/not found|Unknown|could not be reached/);
    expect(await read("propylon://two/timezone://info")).toMatchObject({
      text: "two timezone://info",
    });
  });
});
