import {
  type Gateway,
  type GatewayConfigInput,
  type Json,
  type Tool,
} from "../../../core/index.ts";
import { setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import rest from "../../../plugins/rest/index.ts";
import { until } from "../../fixtures/until.ts";

/** Config with one API named `pets`. */
export function petsConfig(entry: Json): GatewayConfigInput {
  return {
    listeners: { main: { port: 0 } },
    plugins: { rest: {} },
    servers: { pets: { type: "openapi", ...entry } },
  };
}

/** A gateway in front of one API, its document read or refused. */
export async function startPets(entry: Json): Promise<TestGateway> {
  const started = await setupGateway({ plugins: [rest], config: petsConfig(entry) });
  await settled(started.gateway);
  return started;
}

/** Waits until the server has an outcome. */
export async function settled(gateway: Gateway, name = "pets"): Promise<void> {
  await until(() => !["idle", "connecting"].includes(gateway.servers.get(name)!.status.state));
}

/** One tool of the API. */
export function toolOf(gateway: Gateway, name: string): Tool {
  const tool = gateway.servers.get("pets")!.catalogue.tools.find((each) => each.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  return tool;
}

/** Calls one tool of the API and returns its result. */
export async function callPets(gateway: Gateway, name: string, args: Json = {}): Promise<Json> {
  const answer = await gateway.call({ server: "pets", name, args });
  if (answer.error) throw new Error(answer.error.message);
  return answer.result!;
}
