import { describe, expect, it } from "vitest";
import { testPlugin } from "../../../core/testing/index.ts";
import lifecycle from "../../../plugins/lifecycle/index.ts";
import payloads from "../../../plugins/payloads/index.ts";
import { deferred } from "../../kit/deferred.ts";
import {
  call,
  completes,
  ISO,
  ScriptedAgents,
  silent,
  start,
  startOne,
  statuses,
  statusOf,
  type Reply,
  SOON,
} from "./kit.ts";

testPlugin(lifecycle, {
  changed: { maxPreview: 10 },
  with: [new ScriptedAgents(["worker"], silent).plugin, payloads],
});

describe("agent_start", () => {
  it("A007, A008, A009, A010, A050: makes an agent and returns before it has done anything", async () => {
    const { client, agents } = await start();
    const { tools } = await client.listTools();
    const { inputSchema } = tools.find(({ name }) => name === "agent_start")!;
    expect(inputSchema).toMatchObject({ required: ["contract"] });
    expect(Object.keys(inputSchema.properties!)).toEqual(["contract"]);
    const result = await call(client, "agent_start", { contract: "Count to three." });
    expect(Object.keys(result)).toEqual(["agent_id", "status", "started_at"]);
    expect(result).toMatchObject({ status: "running", started_at: expect.stringMatching(ISO) });
    await expect.poll(() => agents.asked.length, SOON).toBe(1);
    expect(agents.asked[0]!.messages[0]).toEqual({
      role: "user",
      parts: [{ type: "text", text: "Count to three." }],
    });
  });

  it("A035, A036: the instructions name the agent's own id and agent_complete", async () => {
    const { client, agents } = await start();
    const id = await startOne(client);
    await expect.poll(() => agents.asked.length, SOON).toBe(1);
    const { instructions } = agents.asked[0]!.options;
    expect(instructions).toContain(id);
    expect(instructions).toContain("call the tool agent_complete");
  });

  it("refuses an empty contract, and agents that take none", async () => {
    const { client } = await start(
      silent,
      { agent: ["worker", "other"] },
      { names: ["worker", "other", "third"] },
    );
    await expect(call(client, "agent_start", { contract: "" })).rejects.toThrow("contract");
    await expect(call(client, "agent_start", { contract: "x", agent: "third" })).rejects.toThrow(
      "agent",
    );
    const { agent_id } = await call(client, "agent_start", { contract: "x", agent: "other" });
    expect(await statusOf(client, agent_id!)).toMatchObject({ status: "running" });
  });

  it("a config that names an agent which is not there is refused, and says which there are", async () => {
    await expect(start(silent, { agent: "nobody" })).rejects.toThrow(
      /"nobody", which is not an agent/,
    );
  });

  it("C19: beyond the concurrency an agent is ready, and starts when there is a place", async () => {
    const replies = [deferred<Reply>(), deferred<Reply>()];
    const { client, agents } = await start(() => replies[agents.asked.length - 1]!.promise, {
      concurrency: 1,
    });
    const first = await startOne(client);
    const second = await call(client, "agent_start", { contract: "later" });
    expect(second).toMatchObject({ status: "ready", started_at: expect.stringMatching(ISO) });
    await expect.poll(() => agents.asked.length, SOON).toBe(1);
    replies[0]!.resolve({ text: "[CONTRACT COMPLETE]" });
    await expect
      .poll(() => statuses(client, [first, second["agent_id"]!]), SOON)
      .toMatchObject([{ status: "completed" }, { status: "running" }]);
  });

  it("refuses what would wait beyond the bound", async () => {
    const { client } = await start(silent, { concurrency: 1, maxWaiting: 1 });
    await startOne(client);
    await startOne(client);
    await expect(startOne(client)).rejects.toThrow("ready already");
  });
});

describe("agent_status", () => {
  it("A011, A020, C53: lists in the order asked for, each position by itself, and nothing for nothing", async () => {
    const { client } = await start();
    const [one, two] = [await startOne(client), await startOne(client)];
    expect(await statuses(client, [])).toEqual([]);
    const told = await statuses(client, [two, one, "nobody", two]);
    expect(told.map(({ agent_id }) => agent_id)).toEqual([two, one, "nobody", two]);
    expect(told[2]).toEqual({ agent_id: "nobody", error: "Agent not found" });
    const { structuredContent, content } = await client.callTool({
      name: "agent_status",
      arguments: { agent_ids: [one] },
    });
    expect(structuredContent).toEqual({
      agents: JSON.parse((content as [{ text: string }])[0].text),
    });
  });

  it("A012, A013, A014, A015, A017, A018, A019, A048: what is told of an agent that completed", async () => {
    const { client, url } = await start(completes("all counted", "häß"));
    const id = await startOne(client);
    await expect
      .poll(() => statusOf(client, id), SOON)
      .toEqual({
        agent_id: id,
        status: "completed",
        started_at: expect.stringMatching(ISO),
        completed_at: expect.stringMatching(ISO),
        summary: "all counted",
        payload_size: 5,
        payload_url: `${url}/api/agents/${id}/payload`,
      });
  });

  it("A019: the payload_url is the literal one when the gateway is where the source has it", async () => {
    const { client } = await start(
      completes("x", "y"),
      {},
      { config: { publicUrl: "http://localhost:8101" } },
    );
    const id = await startOne(client);
    await expect
      .poll(async () => (await statusOf(client, id))["payload_url"], SOON)
      .toBe(`http://localhost:8101/api/agents/${id}/payload`);
  });

  it("A013, A016: what is told of an agent that was stopped", async () => {
    const { client } = await start();
    const id = await startOne(client);
    await call(client, "agent_stop", { agent_id: id });
    expect(await statusOf(client, id)).toEqual({
      agent_id: id,
      status: "stopped",
      started_at: expect.stringMatching(ISO),
      stopped_at: expect.stringMatching(ISO),
      stop_reason: "requested",
    });
  });

  it("A021: a running agent shows the last of what it said, never half a character", async () => {
    let turn = 0;
    const script = (): Reply | Promise<Reply> =>
      turn++ === 0
        ? { text: "I am reading 🚀🚀🚀", calls: [{ name: "append_payload", args: {} }] }
        : silent();
    const { client } = await start(script, { maxPreview: 2 });
    const id = await startOne(client);
    await expect.poll(async () => (await statusOf(client, id))["preview"], SOON).toBe("🚀🚀");
  });

  it("A003, A049: tools and routes see the same agents", async () => {
    const { client, url } = await start();
    const id = await startOne(client);
    expect(await (await fetch(`${url}/api/agents/${id}`)).json()).toMatchObject(
      await statusOf(client, id),
    );
  });
});

describe("agent_complete", () => {
  it("A022, A023, A024, A027: completes an agent with summary and payload", async () => {
    const { client, url } = await start();
    const id = await startOne(client);
    const result = await call(client, "agent_complete", {
      agent_id: id,
      summary: "sum",
      payload: "work",
    });
    expect(Object.keys(result)).toEqual(["status", "started_at", "completed_at"]);
    expect(result["status"]).toBe("completed");
    expect(await statusOf(client, id)).toMatchObject({ summary: "sum", payload_size: 4 });
    expect(await (await fetch(`${url}/api/agents/${id}/payload`)).text()).toBe("work");
  });

  it("C16: an empty text is a payload of 0 bytes, no text is none", async () => {
    const { client } = await start();
    const [one, two] = [await startOne(client), await startOne(client)];
    await call(client, "agent_complete", { agent_id: one, summary: "s", payload: "" });
    await call(client, "agent_complete", { agent_id: two, summary: "s" });
    const [empty, none] = await statuses(client, [one, two]);
    expect(empty).toMatchObject({ payload_size: 0 });
    expect(none).not.toHaveProperty("payload_size");
    expect(none).not.toHaveProperty("payload_url");
  });

  it("A026, A056, C18: again changes nothing and tells the first end", async () => {
    const { client } = await start();
    const id = await startOne(client);
    const first = await call(client, "agent_complete", { agent_id: id, summary: "one" });
    const again = await call(client, "agent_complete", {
      agent_id: id,
      summary: "two",
      payload: "late",
    });
    expect(again).toEqual({ ...first, already: true });
    const status = await statusOf(client, id);
    expect(status).toMatchObject({ summary: "one" });
    expect(status).not.toHaveProperty("payload_size");
  });

  it("A028: the agent calls it itself, about itself only", async () => {
    let other = "";
    const script = ({
      id,
      messages,
    }: {
      id: string;
      messages: readonly unknown[];
    }): Reply | Promise<Reply> => {
      if (other === "" || messages.length > 2) return silent();
      return {
        calls: [
          { name: "agent_complete", args: { agent_id: other, summary: "not mine" } },
          { name: "append_payload", args: { agent_id: other, payload: "not mine" } },
          { name: "agent_complete", args: { agent_id: id } },
          { name: "append_payload", args: { agent_id: id, payload: "one " } },
          { name: "append_payload", args: { agent_id: id, payload: "two" } },
          { name: "agent_complete", args: { agent_id: id, summary: "mine" } },
        ],
      };
    };
    const { client, agents } = await start(script);
    other = await startOne(client);
    const id = await startOne(client);
    await expect
      .poll(() => statuses(client, [other, id]), SOON)
      .toMatchObject([
        { status: "running" },
        { status: "completed", summary: "mine", payload_size: 7 },
      ]);
    expect(agents.answers.slice(0, 3)).toEqual([
      "! That is not your agent_id.",
      "! That is not your agent_id.",
      expect.stringContaining("summary"),
    ]);
  });

  it("a payload that does not fit is refused with both numbers, and the agent goes on", async () => {
    const { client } = await start(silent, {}, { limits: { maxSize: 10 } });
    const id = await startOne(client);
    const completion = { agent_id: id, summary: "s", payload: "12345678901" };
    await expect(call(client, "agent_complete", completion)).rejects.toThrow(
      /11 bytes; at most 10/,
    );
    expect(await statusOf(client, id)).toMatchObject({ status: "running" });
    expect(
      await call(client, "agent_complete", { ...completion, payload: "1234567890" }),
    ).toMatchObject({
      status: "completed",
    });
  });

  it("without the payloads plugin there is no payload to give", async () => {
    const { client, agents } = await start(silent, {}, { without: true });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "agent_start",
      "agent_status",
      "agent_complete",
      "agent_stop",
    ]);
    const { inputSchema } = tools.find(({ name }) => name === "agent_complete")!;
    expect(Object.keys(inputSchema.properties!)).toEqual(["agent_id", "summary"]);
    await startOne(client);
    await expect.poll(() => agents.asked.length, SOON).toBe(1);
    expect(agents.asked[0]!.options.tools!.map(({ name }) => name)).toEqual(["agent_complete"]);
    expect(agents.asked[0]!.options.instructions).not.toContain("payload");
  });

  it("C18: completeAfterStop lets a late completion count", async () => {
    const { client } = await start(silent, { completeAfterStop: "accept" });
    const id = await startOne(client);
    await call(client, "agent_stop", { agent_id: id });
    const late = await call(client, "agent_complete", {
      agent_id: id,
      summary: "after all",
      payload: "p",
    });
    expect(late).toEqual({
      status: "completed",
      started_at: expect.any(String),
      completed_at: expect.any(String),
    });
    expect(await statusOf(client, id)).toMatchObject({
      status: "completed",
      summary: "after all",
      payload_size: 1,
    });
    expect(await call(client, "agent_stop", { agent_id: id })).toMatchObject({
      status: "completed",
      already: true,
    });
  });
});

describe("agent_stop", () => {
  it("A029, A032, A034: stops an agent", async () => {
    const { client } = await start();
    const id = await startOne(client);
    const result = await call(client, "agent_stop", { agent_id: id });
    expect(Object.keys(result)).toEqual(["status", "started_at", "stopped_at"]);
    expect(result["status"]).toBe("stopped");
  });

  it("A033, A056, C18: again, or after a completion, changes nothing and tells the real state", async () => {
    const { client } = await start();
    const [one, two] = [await startOne(client), await startOne(client)];
    const stopped = await call(client, "agent_stop", { agent_id: one });
    expect(await call(client, "agent_stop", { agent_id: one })).toEqual({
      ...stopped,
      already: true,
    });
    expect(await call(client, "agent_complete", { agent_id: one, summary: "s" })).toEqual({
      ...stopped,
      already: true,
    });
    const completed = await call(client, "agent_complete", { agent_id: two, summary: "s" });
    expect(await call(client, "agent_stop", { agent_id: two })).toEqual({
      ...completed,
      already: true,
    });
  });

  it("A025, A030, A031: the request in flight ends, no further one is made", async () => {
    for (const end of ["agent_stop", "agent_complete"]) {
      const reply = deferred<Reply>();
      const { client, agents } = await start(() => reply.promise);
      const id = await startOne(client);
      await expect.poll(() => agents.asked.length, SOON).toBe(1);
      await call(client, end, { agent_id: id, ...(end === "agent_complete" && { summary: "s" }) });
      expect(agents.asked[0]!.options.signal.aborted).toBe(false);
      reply.resolve({
        text: "on I go",
        calls: [{ name: "append_payload", args: { agent_id: id, payload: "x" } }],
      });
      await expect
        .poll(() => agents.answers, SOON)
        .toEqual([expect.stringContaining('"already":true')]);
      await new Promise((resolve) => setImmediate(resolve));
      expect(agents.asked).toHaveLength(1);
      expect(await statusOf(client, id)).not.toHaveProperty("payload_size");
    }
  });

  it("A055: what is about nobody fails", async () => {
    const { client } = await start();
    for (const [name, more] of [
      ["agent_stop", {}],
      ["agent_complete", { summary: "s" }],
      ["append_payload", { payload: "p" }],
    ] as const)
      await expect(call(client, name, { agent_id: "nobody", ...more })).rejects.toThrow(
        "Agent not found",
      );
  });
});

describe("append_payload", () => {
  it("A054, A053: builds a payload piece by piece; a completion without one keeps it", async () => {
    const { client, url } = await start();
    const id = await startOne(client);
    await call(client, "append_payload", { agent_id: id, payload: "one " });
    expect(await call(client, "append_payload", { agent_id: id, payload: "two" })).toEqual({
      agent_id: id,
      status: "running",
      payload_size: 7,
      payload_url: `${url}/api/agents/${id}/payload`,
    });
    await call(client, "agent_complete", { agent_id: id, summary: "s" });
    expect(await call(client, "append_payload", { agent_id: id, payload: "late" })).toMatchObject({
      status: "completed",
      payload_size: 7,
      already: true,
    });
    expect(await (await fetch(`${url}/api/agents/${id}/payload`)).text()).toBe("one two");
  });
});

describe("protocol", () => {
  it("A059: what is wrong with a message is told by the MCP layer", async () => {
    const { client } = await start();
    await expect(client.callTool({ name: "agent_begin", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    await expect(call(client, "agent_status", { agent_ids: "one" })).rejects.toThrow("agent_ids");
  });

  it("a task is not made where none can be asked for: the answer is the ordinary one", async () => {
    const { client } = await start();
    expect(client.getServerCapabilities()).not.toHaveProperty("tasks");
    const params = { name: "agent_start", arguments: { contract: "x" }, task: { ttl: 1_000 } };
    const result = await client.callTool(params);
    expect(result.structuredContent).toMatchObject({ status: "running" });
  });
});
