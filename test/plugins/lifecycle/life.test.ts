import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { textOf } from "../../../plugins/a2a/contract/index.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import { instructionsFor, REMINDER } from "../../../plugins/lifecycle/run/instructions.ts";
import { Output } from "../../../plugins/lifecycle/record/output.ts";
import { verdictOf } from "../../../plugins/lifecycle/run/verdict.ts";
import { deferred } from "../../kit/deferred.ts";
import {
  call,
  completes,
  silent,
  start,
  startOne,
  statuses,
  statusOf,
  type Asked,
  SOON,
  type Reply,
} from "./kit.ts";

const turnOf = ({ messages }: Asked): number => (messages.length - 1) / 2;

describe("how a contract ends without agent_complete", () => {
  it("A037: [CONTRACT COMPLETE] in what the agent says completes it, and the rest is the summary", async () => {
    const { client, agents } = await start(() => ({
      text: "Counted to three.\n[CONTRACT COMPLETE]",
      calls: [{ name: "append_payload", args: { agent_id: "x", payload: "x" } }],
    }));
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({
        status: "completed",
        summary: "Counted to three.",
        completed_at: expect.any(String),
      });
    await expect.poll(() => agents.answers.length, SOON).toBe(1);
    expect(agents.asked).toHaveLength(1);
  });

  it("A037: the words in the contract or in a tool's result are not the agent's", async () => {
    const { client, agents } = await start((asked) =>
      turnOf(asked) === 0
        ? {
            calls: [
              {
                name: "append_payload",
                args: { agent_id: asked.id, payload: "[CONTRACT COMPLETE]" },
              },
            ],
          }
        : silent(),
    );
    const id = await startOne(client, "Write [CONTRACT COMPLETE] when you are done.");
    await expect.poll(() => agents.asked.length, SOON).toBe(2);
    expect(await statusOf(client, id)).toMatchObject({ status: "running" });
  });

  it("C20: [CONTRACT FAILED] stops it, with what the agent said as the error", async () => {
    const { client } = await start(() => ({ text: "[CONTRACT FAILED] There is no such file." }));
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({
        status: "stopped",
        stop_reason: "failed",
        error: "There is no such file.",
      });
  });

  it("C20: a crash stops it with an error that gives nothing away", async () => {
    const { client } = await start(() => {
      throw new Error("secret at /home/somebody");
    });
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({
        status: "stopped",
        stop_reason: "error",
        error: "Internal error.",
      });
  });

  it("an agent that ends its turn is reminded once, and then stopped", async () => {
    const { client, agents } = await start(() => ({ text: "I am done." }));
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({ status: "stopped", stop_reason: "unfinished" });
    expect(agents.asked.map(({ messages }) => messages.at(-1)!.parts[0])).toEqual([
      { type: "text", text: "work" },
      { type: "text", text: expect.stringContaining("still open") },
    ]);
  });

  it("a reminder helps", async () => {
    const { client } = await start((asked) =>
      turnOf(asked) === 0 ? { text: "Well." } : completes("ok")(asked),
    );
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({ status: "completed", summary: "ok" });
  });

  it("the answer of an agent without a model is its summary", async () => {
    const { client } = await start(() => ({ text: "42" }), {}, { names: ["code-one"] });
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toMatchObject({ status: "completed", summary: "42" });
  });

  it.each([
    ["nothing of the kind", undefined],
    ["[contract complete]", undefined],
    ["[CONTRACT COMPLETE]", { status: "completed", summary: "" }],
    [
      "I shall write [CONTRACT COMPLETE] later. [CONTRACT FAILED] No.",
      { status: "stopped", reason: "failed", error: "I shall write  later.  No." },
    ],
    [
      "[CONTRACT FAILED]",
      { status: "stopped", reason: "failed", error: "The agent said that it failed." },
    ],
    ["**[CONTRACT COMPLETE]**", { status: "completed", summary: "" }],
    [
      "All is counted.\n\n[CONTRACT COMPLETE].\n",
      { status: "completed", summary: "All is counted." },
    ],
    [
      "[CONTRACT FAILED]: no such file",
      { status: "stopped", reason: "failed", error: "no such file" },
    ],
  ])("%j says %j", (text, verdict) => {
    expect(verdictOf(text)).toEqual(verdict);
  });

  const MARKERS = ["[CONTRACT COMPLETE]", "[CONTRACT FAILED]"];

  it.each([
    instructionsFor("id", true),
    instructionsFor("id", false),
    textOf(REMINDER.parts as never),
    ...MARKERS.flatMap((marker) => [
      `I am told to end my last message with ${marker}.`,
      `I shall say "${marker}"`,
      `\`${marker}\``,
      `> ${marker}`,
      `> ${marker}\n\nThat comes later.`,
      `The words are:\n\n\`\`\`\n${marker}\n\`\`\`\n`,
      `- ${marker}\n- something else`,
      `My orders:\n${marker}\nNow I begin.`,
      `${marker} is what I shall write.`,
      `I will finish with: ${marker}`,
    ]),
  ])("an agent that quotes its prompt goes on: %j", (quoted) => {
    expect(verdictOf(quoted)).toBeUndefined();
    expect(verdictOf(`My orders are:\n${quoted}\nI begin.`)).toBeUndefined();
    expect(verdictOf(`${quoted}\n\nI begin.`)).toBeUndefined();
  });

  it("whatever stands around a quotation of the prompt is no verdict, and an end of its own behind it is", () => {
    const words = fc.stringMatching(/^[a-z][a-z ,]{0,30}$/);
    const quoted = fc.constantFrom(...instructionsFor("id", true).split("\n"));
    fc.assert(
      fc.property(words, quoted, words, (before, quotation, after) => {
        const text = `${before}\n${quotation}\n${after}`;
        expect(verdictOf(text)).toBeUndefined();
        expect(verdictOf(`${text}.\n[CONTRACT COMPLETE]`)?.status).toBe("completed");
      }),
    );
  });
});

describe("the place of an agent that was stopped", () => {
  it("is free at once, and the request in flight goes on", async () => {
    const { client, agents } = await start(silent, { concurrency: 1 });
    const first = await startOne(client);
    const second = await startOne(client);
    await expect.poll(() => agents.asked.length, SOON).toBe(1);
    await call(client, "agent_stop", { agent_id: first });
    await expect.poll(() => agents.asked.length, SOON).toBe(2);
    expect(await statusOf(client, second)).toMatchObject({ status: "running" });
    expect(agents.asked[0]!.options.signal.aborted).toBe(false);
  });

  it("is not one more for whoever starts and stops: the oldest request in flight is cut", async () => {
    const { client, agents } = await start(silent, { concurrency: 2 });
    for (let round = 1; round <= 6; round++) {
      const id = await startOne(client);
      await expect.poll(() => agents.asked.length, SOON).toBe(round);
      await call(client, "agent_stop", { agent_id: id });
    }
    const cut = agents.asked.map(({ options }) => options.signal.aborted);
    expect(cut).toEqual([true, true, true, false, false, false]);
  });
});

describe("what is kept", () => {
  it("drops the oldest that ended, with their payloads, and none that runs", async () => {
    const { client, url } = await start(silent, { retention: { maxAgents: 1 } });
    const ids = [await startOne(client), await startOne(client), await startOne(client)];
    for (const id of ids.slice(1))
      await call(client, "agent_complete", { agent_id: id, summary: "s", payload: "p" });
    expect((await statuses(client, ids)).map(({ status, error }) => status ?? error)).toEqual([
      "running",
      "Agent not found",
      "completed",
    ]);
    await expect
      .poll(async () => (await fetch(`${url}/api/agents/${ids[1]}/payload`)).status, SOON)
      .toBe(404);
    expect((await fetch(`${url}/api/agents/${ids[2]}/payload`)).status).toBe(200);
  });

  it("drops by bytes", async () => {
    const { client } = await start(silent, { retention: { maxSize: 100 } });
    const ids = [await startOne(client), await startOne(client)];
    for (const id of ids)
      await call(client, "agent_complete", { agent_id: id, summary: "s".repeat(60) });
    expect((await statuses(client, ids)).map(({ status }) => status)).toEqual([
      undefined,
      "completed",
    ]);
  });

  it("drops by age, those that nobody started too", async () => {
    const { client, url } = await start(silent, { retention: { ttl: 1 } });
    const made = await fetch(`${url}/api/agents`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"contract":"x"}',
    });
    expect(made.status).toBe(201);
    const { agent_id } = (await made.json()) as { agent_id: string };
    const id = await startOne(client);
    await call(client, "agent_stop", { agent_id: id });
    await expect
      .poll(() => statuses(client, [agent_id, id]), { interval: 200 })
      .toEqual([agent_id, id].map((each) => ({ agent_id: each, error: "Agent not found" })));
  });

  it("keeps the last of the output, within its bytes and between characters", () => {
    const output = new Output(10);
    output.add("one");
    output.add("two");
    expect(output.text).toBe("one\ntwo");
    output.add("three");
    expect(output.text).toBe("\ntwo\nthree");
    output.add("🚀🚀🚀🚀");
    expect([output.text, output.bytes]).toEqual(["🚀🚀", 8]);
    expect(output.tail(1)).toBe("🚀");
    expect(output.tail(0)).toBe("");
  });
});

describe("through reloads and to the end", () => {
  const configOf = (options: Record<string, unknown>) => ({
    listeners: { main: { port: 0 } },
    plugins: { agents: {}, payloads: {}, lifecycle: options },
  });

  it("agents live through a reload of the plugin, and obey the new options", async () => {
    const reply = deferred<Reply>();
    const { client, gateway, agents } = await start(() => reply.promise, { concurrency: 1 });
    const first = await startOne(client);
    const second = await startOne(client);
    expect(await statuses(client, [first, second])).toMatchObject([
      { status: "running" },
      { status: "ready" },
    ]);
    const { plugins } = await gateway.apply(configOf({ concurrency: 2 }));
    expect(plugins.changed).toContain(lifecycle.name);
    expect(await statuses(client, [first, second])).toMatchObject([
      { status: "running" },
      { status: "running" },
    ]);
    await expect.poll(() => agents.asked.length, SOON).toBe(2);
    reply.resolve({ text: "[CONTRACT COMPLETE]" });
    await expect
      .poll(() => statuses(client, [first, second]), SOON)
      .toMatchObject([{ status: "completed" }, { status: "completed" }]);
  });

  it("a reload that fails leaves the options as they were", async () => {
    const { client, gateway } = await start(silent, { concurrency: 1 });
    await startOne(client);
    await expect(gateway.apply(configOf({ concurrency: 5, agent: "nobody" }))).rejects.toThrow(
      "nobody",
    );
    expect(await call(client, "agent_start", { contract: "x" })).toMatchObject({ status: "ready" });
  });

  it("A005: the end of the gateway stops every agent and cuts what is in flight", async () => {
    const { client, gateway, agents } = await start();
    const id = await startOne(client);
    await expect.poll(() => agents.asked.length, SOON).toBe(1);
    const seen: unknown[] = [];
    gateway.hook("gateway:drain", () => {
      seen.push(agents.asked[0]!.options.mayContinue!());
    });
    await gateway.close({ grace: 0 });
    expect(agents.asked[0]!.options.signal.aborted).toBe(true);
    expect(agents.asked[0]!.options.mayContinue!()).toBe(false);
    expect(id).toBeDefined();
  });

  it("the agents are counted", async () => {
    const { client, gateway } = await start(silent, { concurrency: 2 });
    const ids = [
      await startOne(client),
      await startOne(client),
      await startOne(client),
      await startOne(client),
      await startOne(client),
    ];
    await call(client, "agent_complete", { agent_id: ids[0], summary: "s" });
    await call(client, "agent_stop", { agent_id: ids[3] });
    const text = await (await gateway.manage()).metrics();
    for (const line of [
      "agents_running 2",
      "agents_ready 1",
      'agents_total{status="completed"} 1',
      'agents_total{status="stopped"} 1',
    ])
      expect(text).toMatch(new RegExp(`^\\w*${line.replace(/[{}]/g, "\\$&")}$`, "m"));
  });
});
