import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { pino } from "pino";
import { createFileGateway } from "../../../core/index.ts";
import agents from "../../../plugins/agents/index.ts";
import { startModel } from "../../fixtures/model/model.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { ask, connect, optionsOf, setupTeam } from "./kit.ts";

const MESSAGE = { message: "hi" };

describe("an agent that cannot work", () => {
  it.each([
    ["no model", { model: undefined }, {}, 'The agent "harper" has no model.'],
    ["an unknown provider", {}, { model: "other/x" }, 'provider "other", which is not configured'],
    ["a name without provider", {}, { model: "gpt-5" }, "does not name a provider and a model"],
    [
      "no instructions",
      {},
      { instructions: { file: "./no.md" } },
      "The file ./no.md does not exist.",
    ],
    ["no code", {}, { file: "./no.ts" }, "The file ./no.ts does not exist."],
    ["a server that is down", {}, { dependsOn: ["dead"] }, 'It depends on "dead", which is not'],
    [
      "an agent that cannot work",
      {},
      { dependsOn: ["broken"] },
      'It depends on the agent "broken"',
    ],
  ])(
    "P073: with %s it is listed, says why, and refuses calls; the others work",
    async (_, options, agent, words) => {
      const { urlOf, list, model } = await setupTeam({
        agents: {
          harper: agent,
          broken: { model: "other/x" },
          fine: { model: "scripted/scripted" },
        },
        options,
        config: { servers: { dead: { url: "http://127.0.0.1:1/mcp" } } },
        script: () => ({ text: "Fine." }),
      });
      const [harper, , fine] = list();
      expect(harper!.problem).toContain(words);
      expect(fine!.problem).toBeUndefined();
      const refused = await ask(await connect(urlOf("harper")), "harper", MESSAGE);
      expect(refused).toEqual({ text: expect.stringContaining(words), isError: true });
      expect(model.requests).toHaveLength(0);
      const answered = await ask(await connect(urlOf("fine")), "fine", MESSAGE);
      expect(answered).toEqual({ text: "Fine.", isError: false });
    },
  );

  it("says so when the gateway is checked, with its place", async () => {
    const { gateway } = await setupTeam({ agents: { harper: { model: "other/x" } } });
    expect(collectWarnings(gateway)).toEqual([
      expect.objectContaining({
        path: ["plugins", "agents", "agents", "harper"],
        message: expect.stringContaining('The agent "harper" cannot work: Model "other/x"'),
      }),
    ]);
  });

  it("works again when what it depends on comes back", async () => {
    const { list, gateway } = await setupTeam({
      agents: { harper: { dependsOn: ["late"] } },
      config: { servers: { late: { command: "node_modules/.bin/mcp-server-memory" } } },
    });
    // Its process has only just been started.
    expect(list()[0]!.problem).toContain('It depends on "late", which is not available');
    await expect.poll(() => gateway.servers.get("late")!.status.state).toBe("ready");
    expect(list()[0]!.problem).toBeUndefined();
  });
});

describe("a reload", () => {
  it("changes the agents concerned: sessions of the others stay, and so does the time of their change", async () => {
    const setup = { agents: { a: { title: "One" }, b: {} } };
    const { gateway, urlOf, list, model } = await setupTeam({
      ...setup,
      script: () => ({ text: "ok" }),
    });
    const client = await connect(urlOf("a"));
    const before = list();
    const changed = { ...setup, agents: { a: { title: "Two" }, b: {}, c: {} } };
    await gateway.apply({
      ...gateway.written,
      listeners: { main: { port: 0 } },
      endpoints: {},
      plugins: { ...gateway.written.plugins, agents: optionsOf(changed, model) },
    });
    // The same session, which a gateway without it would refuse.
    expect((await client.listTools()).tools).toMatchObject([{ name: "a", title: "Two" }]);
    expect(await ask(client, "a", MESSAGE)).toEqual({ text: "ok", isError: false });
    const after = list();
    expect(after.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    expect(after[1]!.updatedAt).toBe(before[1]!.updatedAt);
    expect(after[0]!.updatedAt > before[0]!.updatedAt).toBe(true);
  });

  it("takes in what the files of agents say by then", async () => {
    const folder = makeFolder();
    const model = await startModel({ script: () => ({ text: "ok" }) });
    onTestFinished(() => model.close());
    const write = (name: string, text: string) => writeFile(join(folder, name), text);
    await write("harper.md", "First.");
    await write("coder.ts", 'export default { run: () => "first" };');
    await write(
      "gateway.yaml",
      `listeners: { main: { port: 0 } }
log: { level: silent }
agents:
  harper: { instructions: { file: ./harper.md } }
  coder: { file: ./coder.ts }
plugins:
  agents:
    model: scripted/scripted
    providers: { scripted: { type: openai-compatible, baseUrl: "${model.url}" } }
`,
    );
    const log = pino({ level: "silent" });
    const gateway = await createFileGateway(join(folder, "gateway.yaml"), {
      plugins: { agents },
      log,
    });
    onTestFinished(() => gateway.close({ grace: 0 }));
    await gateway.listen();
    const urlOf = (agent: string) =>
      gateway.endpoints.find(({ name }) => name === `agent-${agent}`)!.url;
    const [harper, coder] = [await connect(urlOf("harper")), await connect(urlOf("coder"))];
    expect((await ask(coder, "coder", MESSAGE)).text).toBe("first");
    await write("harper.md", "Second.");
    await write("coder.ts", 'export default { run: () => "second" };');
    expect((await (await gateway.manage()).reload()).plugins.changed).toEqual(["agents"]);
    await ask(harper, "harper", MESSAGE);
    expect(model.requests[0]!.body["messages"]).toContainEqual({
      role: "system",
      content: "Second.",
    });
    expect((await ask(coder, "coder", MESSAGE)).text).toBe("second");
  });
});

describe("the URL that others are told", () => {
  it("is the one that answers; below publicUrl on the first listener, else at the same host", async () => {
    const { list } = await setupTeam({
      agents: { own: { listener: { port: 0 } }, main: {}, set: { url: "https://a.example/x" } },
      config: { publicUrl: "https://team.example/base" },
    });
    const [own, main, set] = list().map(({ url }) => new URL(url));
    expect([own!.hostname, own!.pathname]).toEqual(["team.example", "/mcp"]);
    expect(main!.href).toBe("https://team.example/base/agents/main/mcp");
    expect(set!.href).toBe("https://a.example/x");
  });

  it("P039: without publicUrl it is the address of the listener, loopback for any address", async () => {
    const { list } = await setupTeam({
      agents: { own: { listener: { port: 0 } }, open: { listener: { host: "0.0.0.0", port: 0 } } },
      config: { insecure: true },
      script: () => ({ text: "ok" }),
    });
    for (const { name, url } of list())
      expect(await ask(await connect(url), name, MESSAGE)).toEqual({ text: "ok", isError: false });
  });
});
