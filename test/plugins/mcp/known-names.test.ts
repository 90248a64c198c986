import { afterEach, describe, expect, it } from "vitest";
import type { EndpointContent } from "../../../core/plugin/endpoint-server.ts";
import {
  FakeServer,
  legacyClient,
  postModern,
  sdk2Client,
  serve,
  text,
  type Served,
} from "./kit.ts";
import { outliving } from "./kept.ts";
import { until } from "../../kit/until.ts";

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

/** A server with a tool that says whose it is. */
function house(name: string, ...tools: readonly string[]): FakeServer {
  const server = new FakeServer(name);
  for (const tool of tools) server.tool(tool, () => text(`${name} ${tool}`));
  return server;
}

/** The same before it has told what it has. */
function late(name: string, state: FakeServer["status"]["state"] = "backoff"): FakeServer {
  const server = new FakeServer(name);
  server.catalogue = { ...server.catalogue, hash: "" };
  server.status = { ...server.status, state, reason: "it is not there" };
  return server;
}

function arrive(server: FakeServer, ...tools: readonly string[]): void {
  for (const tool of tools) server.tool(tool, () => text(`${server.name} ${tool}`));
  server.status = { ...server.status, state: "ready", reason: undefined };
  server.emit({ type: "changed", lists: ["tools"] });
  server.emit({ type: "state", status: server.status });
}

async function connect() {
  const client = await legacyClient(served!.url);
  const names = async () => (await client.listTools()).tools.map(({ name }) => name);
  const call = async (name: string) => {
    try {
      const { content } = await client.callTool({ name });
      return (content as { text: string }[])[0]!.text;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return { client, names, call };
}

describe("a name while the store is read", () => {
  it("a gateway that joins a fleet refuses no call for it", async () => {
    const kept = outliving();
    let release!: () => void;
    kept.hold = new Promise((resolve) => (release = resolve));
    served = await serve([house("s", "echo")], { store: kept.open() });
    const call = postModern(served.url, 1, "tools/call", { name: "echo", arguments: {} });
    const list = postModern(served.url, 2, "tools/list", {});
    await until(() => served!.requests() === 2);
    release();
    expect(await (await call).json()).toMatchObject({ result: { content: [{ text: "s echo" }] } });
    expect(await (await list).json()).toMatchObject({ result: { tools: [{ name: "echo" }] } });
  });
});

describe("a name while its server is not up", () => {
  it("mcp-01: never leads to another server, and is told to be one's that is starting", async () => {
    const trusted = late("trusted");
    served = await serve([trusted, house("other", "send")]);
    const { client, names, call } = await connect();
    expect(await names()).toEqual(["other__send"]);
    expect(await call("send")).toContain("trusted, which could not be reached");
    arrive(trusted, "send");
    await until(async () => (await names()).length === 2);
    expect(await names()).toEqual(["trusted__send", "other__send"]);
    expect(await call("send")).toContain(
      "Unknown tool: send. Here it is trusted__send or other__send",
    );
    expect(await call("other__send")).toBe("other send");
    await client.close();
  });

  it("is given as it is once every server has told what it has, and the prefixed one works on", async () => {
    const slow = late("slow");
    served = await serve([slow, house("other", "send")]);
    const { client, names, call } = await connect();
    expect(await names()).toEqual(["other__send"]);
    arrive(slow, "read");
    await until(async () => (await names()).includes("send"));
    expect(await call("other__send")).toBe("other send");
    expect(await call("slow__read")).toBe("slow read");
    await client.close();
  });

  it("is plain at once where what is selected of the late server cannot have it", async () => {
    served = await serve([late("slow"), house("other", "send")]);
    const selection = new Map([
      ["slow", { prefix: "slow", accepts: (tool: string) => tool === "read" }],
    ]);
    served.endpoint.update({ ...served.content(served.servers), selection });
    const { client, names } = await connect();
    expect(await names()).toEqual(["send"]);
    await client.close();
  });

  it.each(["legacy", "modern"] as const)(
    "mcp-19: a call says so with a code to try again (%s)",
    async (era) => {
      served = await serve([late("slow"), house("other", "send")]);
      const client = await sdk2Client(served.url, era);
      await expect(client.callTool({ name: "slow__anything" })).rejects.toMatchObject({
        message: expect.stringContaining("server slow, which could not be reached"),
        data: { code: "unavailable", servers: ["slow"], hint: "Try again in a moment." },
      });
      await client.close();
    },
  );

  it("the same goes for prompts, and for the first of two resources", async () => {
    const trusted = late("trusted");
    const content = {
      prompts: [{ name: "greet" }],
      resources: [{ uri: "x://a", name: "a" }],
      resourceTemplates: [{ uriTemplate: "y://{id}", name: "y" }],
      capabilities: { prompts: {}, resources: {} },
    };
    const other = new FakeServer("other", content);
    other.handlers.set("*", (call) => text(call.name));
    served = await serve([trusted, other]);
    const { client } = await connect();
    const prompts = async () => (await client.listPrompts()).prompts.map(({ name }) => name);
    const uris = async () => (await client.listResources()).resources.map(({ uri }) => uri);
    expect(await prompts()).toEqual(["other__greet"]);
    expect(await uris()).toEqual(["propylon://other/x://a"]);
    await expect(client.readResource({ uri: "x://a" })).rejects.toThrow("trusted, which could not");
    await expect(client.readResource({ uri: "y://1" })).rejects.toThrow("trusted, which could not");
    expect(served.host.calls).toEqual([]);
    trusted.catalogue = { ...trusted.catalogue, ...content, hash: "2" };
    arrive(trusted);
    await until(async () => (await uris()).length === 2);
    expect(await uris()).toEqual(["x://a", "propylon://other/x://a"]);
    expect(await prompts()).toEqual(["trusted__greet", "other__greet"]);
    await client.close();
  });
});

describe("a name that clients were told", () => {
  it("stays its server's when that is gone, comes again under another name, or loses the tool", async () => {
    const one = house("one", "send");
    served = await serve([one]);
    const { client, names, call } = await connect();
    expect(await names()).toEqual(["send"]);
    const two = house("two", "send");
    served.host.current.call = (made) => two.request(made);
    served.endpoint.update(served.content([two]));
    expect(await names()).toEqual(["two__send"]);
    expect(await call("send")).toContain("Here it is two__send");
    served.endpoint.update(served.content([house("one"), two]));
    expect(await names()).toEqual(["two__send"]);
    await client.close();
  });

  it("stays its server's where another, that is named first, gets the same without prefixes", async () => {
    const [first, second] = [house("first", "read"), house("second", "send")];
    const uri = { uri: "x://a", name: "a" };
    second.catalogue = { ...second.catalogue, resources: [uri], capabilities: { resources: {} } };
    served = await serve([first, second], { config: { naming: "none" } });
    const { client, names, call } = await connect();
    expect(await names()).toEqual(["read", "send"]);
    await client.listResources();
    first.catalogue = { ...first.catalogue, resources: [uri] };
    arrive(first, "send");
    await until(() => served!.endpoint.problems.length > 0);
    expect(await call("send")).toBe("second send");
    await client.readResource({ uri: "x://a" }).catch(() => {});
    expect(served.host.calls.at(-1)).toMatchObject({ server: "second", name: "x://a" });
    await client.close();
  });
});

describe("a restart", () => {
  /** Starts with servers that are up, ends, and starts with others. */
  const restarted = async (before: FakeServer[], after: FakeServer[]) => {
    const kept = outliving();
    const first = await serve(before, { store: kept.open() });
    const client = await legacyClient(first.url);
    await client.listTools();
    await client.close();
    await first.close();
    await until(async () => (await kept.names()).length === before.length);
    served = await serve(after, { store: kept.open() });
  };

  it("mcp-19: knows whose a name is before its server is up", async () => {
    await restarted(
      [house("one", "send"), house("two", "add")],
      [late("one"), house("two", "add", "send")],
    );
    const { client, names, call } = await connect();
    expect(await names()).toEqual(["add", "two__send"]);
    expect(await call("send")).toBe(
      'MCP error -32000: The tool "send" is, or may be, one of server one, which could not be reached and is tried again.',
    );
    expect(await call("nonsense")).toContain("Unknown tool: nonsense");
    await client.close();
  });

  it("keeps what clients were told of a server that is not in the config any more", async () => {
    await restarted([house("one", "send")], [house("two", "send", "add")]);
    const { client, names } = await connect();
    expect(await names()).toEqual(["two__send", "add"]);
    await client.close();
  });
});

describe("endpoints.<name>.tools", () => {
  const shown = async (tools: readonly string[], ...servers: FakeServer[]) => {
    served = await serve(servers, { config: { tools: [...tools] } });
    const { client, names } = await connect();
    const listed = await names();
    await client.close();
    return listed;
  };

  it.each([
    [["one/send"], ["one__send"]],
    [["*/send"], ["one__send", "two__send"]],
    [["one/*"], ["one__send", "add"]],
    [["two__send"], ["two__send"]],
    [["add"], ["add"]],
    [["s*"], ["one__send", "two__send"]],
  ])("%j selects by server and tool", async (tools, expected) => {
    expect(await shown(tools, house("one", "send", "add"), house("two", "send"))).toEqual(expected);
  });

  it("a bare name that may be of several selects nothing, and says what to write", async () => {
    expect(await shown(["send"], house("one", "send"), house("two", "send"))).toEqual([]);
    expect(served!.endpoint.problems).toEqual([
      expect.stringContaining('Write "one/send" or "two/send".'),
    ]);
  });

  it("mcp-01: selects no tool of another server while one is late", async () => {
    expect(await shown(["send"], late("trusted"), house("other", "send"))).toEqual([]);
    const config: Partial<EndpointContent["config"]> = { tools: ["other/send"] };
    served!.endpoint.update(served!.content(served!.servers, config));
    const { client, names } = await connect();
    expect(await names()).toEqual(["other__send"]);
    await client.close();
  });
});
