import { PATIENCE } from "../fixtures/ci.ts";
import { setImmediate } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import { expect, it, onTestFinished } from "vitest";
import { until } from "../fixtures/until.ts";
import { useServer as startNats } from "../plugins/nats/kit.ts";
import { startServer } from "../plugins/postgres/kit.ts";
import { startFleet, type Program } from "./fleet.ts";

/** Many more by hand. */
const KILLS = Number(process.env["REPLICA_KILLS"] ?? 3);
const CLIENTS = Number(process.env["REPLICA_CLIENTS"] ?? 6);
/** An exchange that takes longer has no answer. */
const ANSWER_MS = 12_000;

const PLUGIN = `
import { definePlugin } from "propylon";
export default definePlugin({
  name: "tools",
  setup(gateway) {
    const input = { type: "object", properties: { name: { type: "string" } } };
    gateway.tool("echo", { description: "Says it.", input, run: ({ name }) => name });
    gateway.tool("ask", {
      description: "Asks it.",
      input,
      run: async ({ name }, call) => {
        const requestedSchema = { type: "object", properties: { said: { type: "string" } } };
        const answer = await call.peer.ask("elicitation/create", { message: name, requestedSchema });
        return answer.content.said;
      },
    });
  },
});
`;

/** What came of all exchanges. */
class Outcome {
  done = 0;
  /** Ended by a kill, and said so. */
  lost = 0;
  /** Answers of HTTP that a session is not there. */
  terminated = 0;
  /** Answers to questions whose request was broken by a kill: official clients do not send them again, so the call times out. */
  unsaid = 0;
  /** Anything else, in words. */
  readonly wrong: string[] = [];

  note(error: unknown): void {
    const code = error instanceof McpError ? (error.data as { code?: string })?.code : undefined;
    // A connection that broke while it waited is one that a client may use again.
    const isBroken = error instanceof TypeError || /\b503\b/.test(String(error));
    const isUnsaid = /Request timed out/.test(String(error)) && this.unsaid-- > 0;
    if (code === "unavailable" || isBroken || isUnsaid) this.lost++;
    else this.wrong.push(String(error));
  }
}

function isAnswer(init: RequestInit | undefined): boolean {
  return typeof init?.body === "string" && !("method" in (JSON.parse(init.body) as object));
}

/** Sends each request to another gateway, past those that do not listen, as a balancer does. */
function roam(fleet: readonly Program[], outcome: Outcome): typeof fetch {
  return async (_url, init) => {
    for (let tries = 0; ; tries++) {
      const up = fleet.filter(({ isUp }) => isUp);
      const { url } = up[Math.floor(Math.random() * up.length)]!;
      try {
        const response = await fetch(url, init);
        if (response.status === 404) outcome.terminated++;
        return response;
      } catch (error) {
        const { cause } = error as { cause?: { code?: string } };
        if (cause?.code === "ECONNREFUSED" && tries <= 20) continue;
        if (isAnswer(init)) outcome.unsaid++;
        throw error;
      }
    }
  };
}

async function connect(fleet: readonly Program[], outcome: Outcome): Promise<Client> {
  const client = new Client(
    { name: "roaming", version: "1" },
    { capabilities: { elicitation: {} } },
  );
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
    action: "accept",
    content: { said: params.message },
  }));
  const reconnectionOptions = {
    initialReconnectionDelay: 20,
    maxReconnectionDelay: 200,
    reconnectionDelayGrowFactor: 1.5,
    maxRetries: 10_000,
  };
  const transport = new StreamableHTTPClientTransport(new URL(fleet[0]!.url), {
    reconnectionOptions,
    fetch: roam(fleet, outcome),
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

async function exchange(client: Client, name: string, outcome: Outcome): Promise<void> {
  const tool = { name: Math.random() < 0.5 ? "ask" : "echo", arguments: { name } };
  try {
    const result = await client.callTool(tool, undefined, { timeout: ANSWER_MS });
    const [said] = result.content as { text: string }[];
    if (said?.text === name) outcome.done++;
    else outcome.wrong.push(`${tool.name} ${name}: ${JSON.stringify(result)}`);
  } catch (error) {
    outcome.note(error);
  }
}

it.each([
  ["PostgreSQL", startServer],
  ["NATS", startNats],
] as const)(
  `three gateways of one %s, killed in turn ${KILLS} times: sessions go on, and each exchange ends`,
  { timeout: PATIENCE * (90_000 + KILLS * 30_000) },
  async (_name, start) => {
    const { url } = await start();
    const fleet = await startFleet(PLUGIN, [url, url, url]);
    const outcome = new Outcome();
    const clients = await Promise.all(
      Array.from({ length: CLIENTS }, () => connect(fleet, outcome)),
    );
    const idOf = ({ transport }: Client): string =>
      (transport as StreamableHTTPClientTransport).sessionId!;
    const ids = clients.map(idOf);
    let isOver = false;
    // A client whose every request fails at once would leave no turn to anything else.
    onTestFinished(() => void (isOver = true));
    const loads = clients.map(async (client, at) => {
      for (let round = 0; !isOver; round++) {
        await exchange(client, `${at}-${round}`, outcome);
        await setImmediate();
      }
    });
    for (let kill = 0; kill < KILLS; kill++) {
      const before = outcome.done;
      await until(() => outcome.done > before + 10 * CLIENTS, 60_000);
      const program = fleet[kill % fleet.length]!;
      await program.kill();
      await program.start();
    }
    isOver = true;
    await Promise.all(loads);
    const { lost, terminated, wrong } = outcome;
    expect({ terminated, wrong }).toEqual({ terminated: 0, wrong: [] });
    expect(clients.map(idOf)).toEqual(ids);
    // No more than each client had at the gateway that was killed.
    expect(lost).toBeLessThanOrEqual(KILLS * CLIENTS);
  },
);
