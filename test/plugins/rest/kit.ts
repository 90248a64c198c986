import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import {
  type Gateway,
  type GatewayConfigInput,
  type Json,
  type Tool,
} from "../../../core/index.ts";
import { setupGateway, type TestGateway } from "../../../core/testing/index.ts";
import mcp from "../../../plugins/mcp/index.ts";
import openapi from "../../../plugins/openapi/index.ts";
import rest from "../../../plugins/rest/index.ts";
import { until } from "../../kit/until.ts";

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

/** An API that serves its document, and answers calls as a test says. */
export interface Api {
  readonly document: () => string;
  readonly answer: (req: IncomingMessage, res: ServerResponse) => void;
}

/** A gateway in front of it that is called over MCP and over HTTP. */
export async function startApiNamed(name: string, { document, answer }: Api, entry: Json = {}) {
  const api = createServer((req, res) => {
    if (req.url === "/openapi") res.end(document());
    else answer(req, res);
  });
  await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    api.close();
    api.closeAllConnections();
  });
  const spec = `http://127.0.0.1:${(api.address() as AddressInfo).port}/openapi`;
  const started = await setupGateway({
    plugins: [rest, mcp, openapi],
    config: {
      listeners: { main: { port: 0 } },
      plugins: { rest: {}, mcp: {}, openapi: {} },
      servers: { [name]: { type: "openapi", spec, ...entry } },
    },
  });
  await settled(started.gateway, name);
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
