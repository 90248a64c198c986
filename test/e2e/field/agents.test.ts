import openapi from "../../../plugins/openapi/index.ts";
import { definePlugin } from "propylon";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { ask, connect, setupTeam } from "../../plugins/agents/kit.ts";

/** A plugin whose tools note how they were called. */
function tools() {
  const ran: string[] = [];
  const note = (words: string): string => {
    ran.push(words);
    return words;
  };
  const plugin = definePlugin({
    name: "t",
    setup(gateway) {
      gateway.tool("echo", {
        description: "Echoes.",
        input: z.object({ x: z.string().optional() }),
        run: ({ x }) => note(`echo ${x}`),
      });
      gateway.tool("noargs", {
        description: "Takes nothing.",
        run: () => note("noargs"),
      });
    },
  });
  return { plugin, ran };
}

const two = (id: string) => [
  { name: "t__noargs", id },
  { name: "t__echo", args: { x: "two" }, id },
];

async function start(calls: ReturnType<typeof two>) {
  const { plugin, ran } = tools();
  const team = await setupTeam({
    agents: { a: { description: "Answers.", servers: ["t"] } },
    plugins: [plugin, openapi],
    script: [{ calls }, { text: "Done." }],
  });
  return { ...team, ran };
}

describe("two tool calls with one id in one answer", () => {
  it.each(["", "a", "t__echo"])("rest-01: with the id %j each runs once, over MCP", async (id) => {
    const { urlOf, ran, model } = await start(two(id));
    const client = await connect(urlOf("a"));
    expect(await ask(client, "a", { message: "hi" })).toEqual({ text: "Done.", isError: false });
    expect(ran.toSorted()).toEqual(["echo two", "noargs"]);
    expect(model.requests[1]!.results).toEqual(["noargs", "echo two"]);
  });

  it("rest-01: each runs once, over HTTP", async () => {
    const { url, ran, model } = await start(two(""));
    const response = await fetch(`${url}/a/a`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ message: "hi" }),
    });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining("Done."),
    ]);
    expect(ran.toSorted()).toEqual(["echo two", "noargs"]);
    expect(model.requests[1]!.results).toEqual(["noargs", "echo two"]);
  });

  it("rest-01: two calls of one tool keep their own arguments", async () => {
    const calls = ["e1", "e2"].map((x) => ({ name: "t__echo", args: { x }, id: "" }));
    const { urlOf, ran, model } = await start(calls);
    await ask(await connect(urlOf("a")), "a", { message: "hi" });
    expect(ran.toSorted()).toEqual(["echo e1", "echo e2"]);
    expect(model.requests[1]!.results).toEqual(["echo e1", "echo e2"]);
  });
});
