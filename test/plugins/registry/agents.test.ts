import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { connectClient, setupGateway } from "../../../core/testing/index.ts";
import agents from "../../../plugins/agents/index.ts";
import registry from "../../../plugins/registry/index.ts";
import { until } from "../../kit/until.ts";

const SCRIPTED = fileURLToPath(
  new URL("../../fixtures/process/scripted-server.mjs", import.meta.url),
);
const PATH = "/.well-known/mcp/server.json";

/** A gateway of that many agents, each a face of one real server, some on ports of their own. */
function configOf(count: number) {
  const team = Array.from({ length: count }, (_, at) => [
    `agent${at}`,
    { server: "scripted", ...(at % 2 === 0 && { listener: { port: 0 } }) },
  ]);
  return {
    listeners: { main: { port: 0 } },
    servers: { scripted: { command: "node", args: [SCRIPTED] } },
    plugins: { agents: { agents: Object.fromEntries(team) }, registry: {} },
  };
}

interface List {
  readonly servers: readonly {
    readonly server: {
      readonly name: string;
      readonly remotes: readonly { readonly url: string }[];
    };
  }[];
}

it("P008, P009, P039: every URL of the list is an MCP endpoint that a client can use", async () => {
  const { url } = await setupGateway({
    plugins: [agents, registry],
    config: configOf(4),
    client: false,
  });
  const { servers } = (await (await fetch(`${url}${PATH}`)).json()) as List;
  expect(servers.map(({ server }) => server.name)).toEqual([
    "propylon-agent0",
    "propylon-agent1",
    "propylon-agent2",
    "propylon-agent3",
  ]);
  for (const { server } of servers) {
    const client = await connectClient(server.remotes[0]!.url);
    const { content } = await client.callTool({ name: "echo", arguments: { text: "here" } });
    expect(content).toEqual([{ type: "text", text: "here" }]);
    await client.close();
  }
});

it("P036, P037: 500 requests during 20 reloads each get a whole list, of one config or the next", async () => {
  const { url, gateway } = await setupGateway({
    plugins: [agents, registry],
    config: configOf(1),
    client: false,
  });
  let isReloading = true;
  const seen: number[] = [];
  // Twenty-five at a time, until both are done.
  const readers = Array.from({ length: 25 }, async () => {
    while (isReloading || seen.length < 500) {
      const response = await fetch(`${url}${PATH}`);
      const { servers } = (await response.json()) as List;
      // Names count up without a gap: a list put together from two configs would show.
      expect(servers.map(({ server }) => server.name)).toEqual(
        servers.map((_, at) => `propylon-agent${at}`),
      );
      seen.push(servers.length);
    }
  });
  for (let round = 2; round <= 21; round++) {
    const before = seen.length;
    await until(() => seen.length > before + 10, 15_000);
    await gateway.apply(configOf(round));
  }
  isReloading = false;
  await Promise.all(readers);
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(1);
  expect(new Set(seen).size).toBeGreaterThan(10);
  expect(((await (await fetch(`${url}${PATH}`)).json()) as List).servers).toHaveLength(21);
});
