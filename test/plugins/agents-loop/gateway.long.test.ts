import { join } from "node:path";
import { definePlugin, type PluginContext } from "propylon";
import { createPrincipal } from "../../../core/kit.ts";
import { setupGateway } from "propylon/testing";
import { describe, expect, it } from "vitest";
import type { CallServer } from "../../../plugins/agents/loop/calls.ts";
import { Toolbox } from "../../../plugins/agents/loop/toolbox.ts";
import gating, { Gating, type GatingService } from "../../../plugins/gating/index.ts";
import { followOrders } from "../../fixtures/model/orders.mjs";
import { makeFolder } from "../../kit/folder.ts";
import { modelOf, run, start, user } from "./start.ts";

const bin = (name: string): string =>
  new URL(`../../../node_modules/.bin/${name}`, import.meta.url).pathname;

const AGENT = createPrincipal({ id: "reader", kind: "agent", roles: new Set(["caller"]) });

interface Surroundings {
  readonly call: CallServer;
  readonly toolbox: Toolbox;
  /** Where the files are. */
  readonly folder: string;
  readonly flags: GatingService;
}

/** A gateway with real files and a real memory, and a way into its pipeline as the agent. */
async function setup(): Promise<Surroundings> {
  const folder = makeFolder({ "a.txt": "alpha", "b.txt": "beta" });
  let door: PluginContext<unknown, { flags: typeof Gating }> | undefined;
  const keyhole = definePlugin({
    name: "keyhole",
    inject: { flags: Gating },
    setup: (gateway) => void (door = gateway),
  });
  await setupGateway({
    plugins: [gating, keyhole],
    config: {
      servers: {
        files: { command: bin("mcp-server-filesystem"), args: [folder] },
        everything: { command: bin("mcp-server-everything") },
      },
    },
    client: false,
  });
  const { servers } = door!.info;
  await expect.poll(() => servers.get("files")?.catalogue.tools.length).toBeGreaterThan(0);
  await expect.poll(() => servers.get("everything")?.catalogue.tools.length).toBeGreaterThan(0);
  const offers = ["files", "everything"].flatMap((server) =>
    servers.get(server)!.catalogue.tools.map((tool) => ({ server, tool })),
  );
  const call: CallServer = ({ args, ...rest }) =>
    door!.call({ ...rest, args: { ...args }, principal: AGENT, source: "agent" });
  return { call, toolbox: new Toolbox(offers), folder, flags: door!.services.flags };
}

describe("with real MCP servers behind a gateway", () => {
  it("P118: an agent reads files in parallel over several turns, and each call is reported", async () => {
    const { call, toolbox, folder } = await setup();
    const server = await start(followOrders);
    const orders = [
      `use read_text_file ${JSON.stringify({ path: join(folder, "a.txt") })}`,
      `use read_text_file ${JSON.stringify({ path: join(folder, "b.txt") })}`,
      "then",
      `use read_text_file ${JSON.stringify({ path: join(folder, "none.txt") })}`,
      `use read_text_file {"path": 7}`,
    ];
    const { result, events } = await run({
      model: modelOf(server),
      toolbox,
      call,
      messages: [user(orders.join("\n"))],
    });
    expect(result).toMatchObject({ end: "finished", turns: 3 });
    expect(server.requests[1]!.results).toEqual(["alpha", "beta"]);
    const [missing, broken] = server.requests[2]!.results;
    expect(missing).toContain("ENOENT");
    expect(broken).toMatch(/path/);
    const states = events.flatMap((event) => (event.type === "tool" ? [event.state] : []));
    expect(states.slice(0, 4).toSorted((a, b) => a.localeCompare(b))).toEqual([
      "completed",
      "completed",
      "started",
      "started",
    ]);
    expect(states.filter((state) => state === "failed")).toHaveLength(2);
  });

  it("a tool that was switched off is refused by the gateway, and the model told so", async () => {
    const { call, toolbox, folder, flags } = await setup();
    const path = join(folder, "a.txt");
    await flags.set([{ server: "files", tool: "read_text_file", enabled: false }], "operator");
    const server = await start(followOrders);
    const order = `use read_text_file ${JSON.stringify({ path })}`;
    const ran = await run({ model: modelOf(server), toolbox, call, messages: [user(order)] });
    expect(ran.result.end).toBe("finished");
    expect(server.requests[1]!.results[0]).toMatch(/^Error \(disabled\): /);
    expect(server.requests[1]!.results[0]).not.toContain("alpha");
  });

  it("P124: an image that a real tool returns reaches the model, and its progress the listener", async () => {
    const { call, toolbox } = await setup();
    const server = await start(followOrders);
    const orders = [
      "use get-tiny-image",
      'use trigger-long-running-operation {"duration": 0.2, "steps": 2}',
    ];
    const { events, result } = await run({
      model: modelOf(server),
      toolbox,
      call,
      messages: [user(orders.join("\n"))],
    });
    expect(result).toMatchObject({ end: "finished", turns: 2 });
    const sent = JSON.stringify(server.requests[1]!.body);
    expect(sent).toMatch(/"image_url":\{"url":"data:image\/png;base64,[A-Za-z0-9+/=]{100}/);
    const relayed = events.filter((event) => event.type === "relayed");
    expect(relayed.length).toBeGreaterThan(0);
    expect(relayed[0]).toMatchObject({
      server: "everything",
      tool: "trigger-long-running-operation",
    });
  });
});
