import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { readCard } from "../../../plugins/a2a-client/card/card.ts";
import { agentOptions } from "../../../plugins/a2a-client/options.ts";
import { readEvent } from "../../../plugins/a2a-client/call/translation.ts";
import { readTypedEvents } from "../../../core/kit/events.ts";
import { skillTools } from "../../../plugins/a2a-client/call/tool.ts";
import { startAgent } from "./agent.ts";
import { until } from "../../kit/until.ts";
import { say, settled, startBridge, textOf } from "./kit.ts";
import { reply, serve, startRuntime } from "./runtime.ts";

const SKILLS = [{ id: "talk" }];
const OPTIONS = agentOptions.parse({ url: "http://agent.example:8080/base" });
const read = (card: object, options: object = {}) =>
  readCard(Buffer.from(JSON.stringify({ name: "a", skills: SKILLS, ...card })), {
    ...OPTIONS,
    ...options,
  });
const face = (url: string, protocolBinding = "JSONRPC", protocolVersion = "1.0") => ({
  supportedInterfaces: [{ url, protocolBinding, protocolVersion }],
});

describe("the dialect", () => {
  const here = "http://agent.example:8080/rpc";

  it.each([
    ["supportedInterfaces is 1.0", face(here), "1.0", "JSONRPC", here],
    ["one of a later 1", face(here, "HTTP+JSON", "1.1"), "1.0", "HTTP+JSON", here],
    [
      "supportedInterfaces of 0.3 only is 0.3",
      face(here, "JSONRPC", "0.3.0"),
      "0.3",
      "JSONRPC",
      here,
    ],
    [
      "protocolVersion and url is 0.3",
      { protocolVersion: "0.3.0", url: here },
      "0.3",
      "JSONRPC",
      here,
    ],
    [
      "the transport of 0.3",
      {
        url: here,
        preferredTransport: "GRPC",
        additionalInterfaces: [{ url: here, transport: "HTTP+JSON" }],
      },
      "0.3",
      "HTTP+JSON",
      here,
    ],
    ["neither is contract v1", {}, "contract-v1", "contract", "http://agent.example:8080/base/"],
    ["a relative URL", face("rpc"), "1.0", "JSONRPC", "http://agent.example:8080/base/rpc"],
    [
      "https in place of http",
      face("https://agent.example/rpc"),
      "1.0",
      "JSONRPC",
      "https://agent.example/rpc",
    ],
  ])("%s", (_, card, dialect, binding, url) => {
    const found = read(card).interface;
    expect({ ...found, url: found.url.href }).toEqual({ dialect, binding, url, tenant: "" });
  });

  it("is the operator's where they set one, and so is the endpoint", () => {
    expect(read(face(here), { dialect: "contract-v1" }).interface.binding).toBe("contract");
    const endpoint = "https://elsewhere.example/a2a";
    const found = read(face("http://10.0.0.1/"), { endpoint }).interface;
    expect(found).toMatchObject({ dialect: "1.0", binding: "JSONRPC" });
    expect(found.url.href).toBe(endpoint);
  });
});

describe("a card", () => {
  it.each([
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:8080/",
    "http://agent.example:9090/",
    "https://other.example/",
    "http://agent.example:8080@10.0.0.1/",
    "http://user:secret@agent.example:8080/",
    "//10.0.0.1/",
    "file:///etc/passwd",
    "gopher://agent.example:8080/",
    "http://agent.example.evil.example:8080/",
    "ftp://agent.example:8080/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://2852039166/",
  ])("T7, T24: cannot send messages to %s", (url) => {
    for (const card of [face(url), { protocolVersion: "0.3.0", url }])
      expect(() => read(card)).toThrow(/its card says that messages go to another host/);
  });

  it("T7: with a hostile URL leaves the server failed, and no request goes there", async () => {
    let visits = 0;
    const inside = await serve((_, res) => reply(res, 200, { visits: ++visits }));
    for (const url of [`${inside}/rpc`, inside]) {
      const agent = await serve((_, res) =>
        reply(res, 200, { name: "a", skills: SKILLS, ...face(url) }),
      );
      const { gateway } = await startBridge({
        url: agent,
        headers: { authorization: "Bearer own" },
      });
      const { status } = gateway.servers.get("agent")!;
      expect(status.state).toBe("failed");
      expect(status.reason).toMatch(/another host\. Set endpoint/);
      await expect(say(gateway, "hi")).rejects.toMatchObject({ code: "upstream_error" });
    }
    expect(visits).toBe(0);
  });

  it("T7: is not read through a redirect", async () => {
    let visits = 0;
    const inside = await serve((_, res) => reply(res, 200, { visits: ++visits }));
    const agent = await serve((_, res) => void res.writeHead(302, { location: inside }).end());
    const { gateway } = await startBridge({ url: agent });
    const { status } = gateway.servers.get("agent")!;
    expect(status.state).toBe("backoff");
    expect(status.reason).toMatch(/redirects \(HTTP 302\)/);
    expect(visits).toBe(0);
  });

  it.each([
    ["no JSON", "{", /is not JSON/],
    ["no object", "[]", /is not valid/],
    ["without skills", { skills: [] }, /is not valid: skills/],
    ["without a name", { name: "" }, /is not valid: name/],
    ["of gRPC only", face("http://x", "GRPC"), /over no protocol that is spoken here/],
    ["of a later version only", face("http://x", "JSONRPC", "2.0"), /speaks A2A 2\.0 only/],
  ])("that is none leaves the server failed: %s", async (_, card, reason) => {
    const whole =
      typeof card === "string" ? card : JSON.stringify({ name: "a", skills: SKILLS, ...card });
    const url = await serve((_request, res) => void res.writeHead(200).end(whole));
    const { gateway } = await startBridge({ url });
    const { status } = gateway.servers.get("agent")!;
    expect(status.state).toBe("failed");
    expect(status.reason).toMatch(reason);
  });

  it("that is not there, too large or forbidden is told of with what to do", async () => {
    const answers: Record<string, (res: Parameters<typeof reply>[0]) => void> = {
      missing: (res) => reply(res, 404, {}),
      large: (res) => reply(res, 200, { name: "x".repeat(20_000) }),
      endless: (res) =>
        void res.writeHead(200, { "content-type": "text/event-stream" }).end("x".repeat(20_000)),
      forbidden: (res) => reply(res, 403, {}),
      away: (res) => void res.socket?.destroy(),
    };
    const url = await serve((req, res) => answers[req.url!.slice(1)]!(res));
    const reasons = [];
    for (const card of Object.keys(answers)) {
      const { gateway } = await startBridge({ url, card, maxResult: 10_000 });
      const { state, reason } = gateway.servers.get("agent")!.status;
      reasons.push(`${state}: ${reason}`);
    }
    expect(reasons).toEqual([
      "failed: The agent has no card there (HTTP 404). Check url, or set card to where it is.",
      ...Array.from(
        { length: 2 },
        () =>
          'failed: Server "agent" answered with more than 10000 bytes. Raise maxResult of this server, or ask it for less.',
      ),
      'backoff: Server "agent" denies access (HTTP 403). Check the headers of this server in the config.',
      'backoff: Server "agent" cannot be used: the connection was closed.',
    ]);
  });

  it("M106: is asked for with its ETag; the same rebuilds nothing, another one is told to clients", async () => {
    const agent = await startAgent();
    const { gateway, client } = await startBridge({ url: agent.url, refreshInterval: "20ms" });
    const server = gateway.servers.get("agent")!;
    const { catalogue } = server;
    let told = 0;
    gateway.hook("server:catalogue", () => void told++);
    const conditional = () =>
      agent.received.filter(({ headers }) => headers["if-none-match"] !== undefined).length;
    await until(() => conditional() >= 3);
    expect(server.catalogue).toBe(catalogue);
    expect(told).toBe(0);
    const { card } = agent;
    agent.card = { ...card, skills: [{ id: "talk" }, { id: "sing" }] };
    await until(() => told === 1);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["talk", "sing"]);
    agent.card = { skills: "none" };
    await until(() => server.status.state === "degraded");
    expect(server.status.reason).toMatch(/is not valid/);
    expect(textOf(await say(gateway, "still"))).toBe("hello, still");
    agent.card = card;
    await until(() => server.status.state === "ready" && told === 2);
  });

  it("on another host than the agent does not get the operator's headers", async () => {
    const runtime = await startRuntime(() => {});
    const seen: unknown[] = [];
    const cards = await serve(({ headers }, res) => {
      seen.push(headers.authorization);
      reply(res, 200, runtime.card);
    });
    const headers = { authorization: "Bearer own" };
    const { gateway } = await startBridge({
      url: runtime.url,
      card: `${cards}/card.json`,
      headers,
    });
    await settled(gateway);
    expect(gateway.servers.get("agent")!.status.state).toBe("ready");
    expect(seen).toEqual([undefined]);
  });

  it("is what an agent of A2A is probed by", async () => {
    const agent = await startAgent();
    const { gateway } = await startBridge({ url: agent.url });
    const probe = () => gateway.servers.get("agent")!.probe!(AbortSignal.timeout(5_000));
    expect((await probe()).latency).toBeGreaterThan(0);
    agent.card = {};
    await expect(probe()).rejects.toMatchObject({ data: { failed: "list" } });
    await agent.kill();
    await expect(probe()).rejects.toMatchObject({ data: { failed: "transport" } });
  });
});

describe("whatever comes", () => {
  it("makes names that MCP allows, each its own", () => {
    const name = /^[A-Za-z0-9_.-]{1,64}$/;
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, maxLength: 80 }), { minLength: 1 }), (ids) => {
        const skills = ids.map((id) => ({ id, name: id, description: "", tags: [] }));
        const names = [...skillTools(skills).keys()];
        expect(names).toHaveLength(ids.length);
        expect(names.filter((each) => !name.test(each))).toEqual([]);
      }),
    );
  });

  it("T7: makes names in no time, however an id is made to be searched", () => {
    const begun = performance.now();
    skillTools([{ id: `x${"_".repeat(300_000)}x`, description: "", tags: [] }]);
    // Quadratic would be a minute.
    expect(performance.now() - begun).toBeLessThan(10_000);
  });

  it("T7: is refused when a card has more skills than can be told apart", () => {
    const skills = Array.from({ length: 1_001 }, () => ({ id: "same" }));
    expect(() => read({ skills })).toThrow(/skills: .*1000/);
  });

  it("is an event or none, but no crash", () => {
    fc.assert(fc.property(fc.jsonValue(), (wire) => void readEvent(wire)));
    const part = fc.record({ text: fc.string() });
    const state = fc.constantFrom("working", "TASK_STATE_WORKING", "made up", 7, null);
    const status = fc.record({
      state,
      message: fc.record({ role: fc.string(), parts: fc.array(part) }),
    });
    fc.assert(
      fc.property(fc.record({ id: fc.string({ minLength: 1 }), status }), (task) => {
        expect(readEvent({ task })).toMatchObject({ task: { status: { state: "working" } } });
      }),
    );
  });

  it("is the same events however they are cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme" }).map((text) => JSON.stringify(text))),
        fc.constantFrom("\n", "\r\n"),
        fc.integer({ min: 1, max: 9 }),
        async (texts, end, size) => {
          const whole = texts.map((text) => `: hello${end}data: ${text}${end}${end}`).join("");
          const bytes = Buffer.from(whole);
          const chunks = async function* () {
            for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
          };
          const found = [];
          const events = readTypedEvents(chunks(), 10_000, () => new Error("too much"));
          for await (const { data } of events) found.push(data);
          expect(found).toEqual(texts);
        },
      ),
    );
  });
});
