import { type Gateway, type GatewayConfigInput, type Json } from "../../../core/index.ts";
import { setupGateway, type GatewaySetup, type TestGateway } from "../../../core/testing/index.ts";
import a2aClient from "../../../plugins/a2a-client/index.ts";
import { until } from "../../kit/until.ts";

/** Config with one agent named `agent`. */
export function agentConfig(entry: Json): GatewayConfigInput {
  return {
    listeners: { main: { port: 0 } },
    plugins: { "a2a-client": {} },
    servers: { agent: { type: "a2a", pollInterval: "50ms", ...entry } },
  };
}

/** A gateway in front of one agent, its card read or refused. */
export async function startBridge(
  entry: Json,
  setup: Omit<GatewaySetup, "plugins" | "config"> = {},
): Promise<TestGateway> {
  const started = await setupGateway({
    ...setup,
    plugins: [a2aClient],
    config: agentConfig(entry),
  });
  await settled(started.gateway);
  return started;
}

/** Waits until the server has an outcome. */
export async function settled(gateway: Gateway, name = "agent"): Promise<void> {
  await until(() => !["idle", "connecting"].includes(gateway.servers.get(name)!.status.state));
}

/** Says something to the agent and returns the result. */
export async function say(gateway: Gateway, message: string, args: Json = {}): Promise<Json> {
  const answer = await gateway.call({
    server: "agent",
    name: "talk",
    args: { message, ...args },
  });
  if (answer.error) throw new Error(answer.error.message);
  return answer.result!;
}

/** The ids and the state that a result tells. */
export function factsOf(result: Json): { taskId: string; contextId: string; state: string } {
  const meta = result["_meta"] as Json;
  return meta["propylon/a2a"] as { taskId: string; contextId: string; state: string };
}

/** All text of a result. */
export function textOf(result: Json): string {
  return (result["content"] as { text: string }[]).map(({ text }) => text).join("");
}
