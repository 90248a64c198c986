import { configSchema, type GatewayConfig, toGatewayError } from "propylon";
import { Backlog } from "../../../core/kit/backlog.ts";
import { Leases } from "../../../core/plugin/leases.ts";
import { createPrincipal } from "../../../core/kit.ts";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { pino } from "pino";
import type { ListenerApp } from "../../../core/http/app.ts";
import { listenerSchema, type ListenerConfig } from "../../../core/config/schema.ts";
import { Listener } from "../../../core/http/listener.ts";
import { takeBody } from "../../../core/http/http-messages.ts";
import { sendError } from "../../../core/http/failure.ts";

/** The body of a request, as a promise. */
export function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => takeBody(req, limit, { body: resolve, failed: reject }));
}

export const ANYONE = createPrincipal({ id: "anonymous", kind: "anonymous", roles: new Set() });

/** One HTTP answer as it came over the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** A listener on a free port, with what it logged and which requests reached its app. */
export interface Rig {
  readonly listener: Listener;
  readonly port: number;
  readonly url: string;
  /** `METHOD path` of every request that reached the plugins' routes, `METHOD endpoint` of those that reached the endpoint. */
  readonly reached: string[];
  readonly log: { level: number; msg: string }[];
}

export interface RigOptions {
  readonly listener?: Partial<ListenerConfig>;
  readonly limits?: Partial<GatewayConfig["limits"]>;
  readonly app?: Partial<ListenerApp>;
  readonly publicUrl?: string;
  /** Gives it no app. */
  readonly bare?: boolean;
}

/** Opens a listener whose endpoint `/mcp` tells the size of the body and whose other routes tell their path. */
export async function openRig({
  listener: overrides,
  limits,
  app,
  publicUrl,
  bare = false,
}: RigOptions = {}): Promise<Rig> {
  const reached: string[] = [];
  const lines: { level: number; msg: string }[] = [];
  const log = pino(
    { level: "debug" },
    { write: (line: string) => lines.push(JSON.parse(line) as { level: number; msg: string }) },
  );
  const config = listenerSchema.parse({ port: 0, ...overrides });
  const options = {
    limits: { ...configSchema.parse({}).limits, ...limits },
    log,
    ...(publicUrl !== undefined && { publicUrl }),
  };
  const listener = new Listener("main", config, {
    ...options,
    leases: new Leases(),
    backlog: new Backlog(options.limits, () => {}),
  });
  const { port, url } = await listener.open();
  if (!bare)
    listener.swap({
      endpoints: new Map([
        [
          "/mcp",
          (req, res) => {
            reached.push(`${req.method} endpoint`);
            readBody(req, options.limits.body).then(
              (body) => res.end(`size ${body.length}`),
              (error: unknown) => sendError(res, toGatewayError(error)),
            );
          },
        ],
      ]),
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        reached.push(`${request.method} ${pathname}`);
        return new Response(`route ${pathname}`);
      },
      authenticate: () => ANYONE,
      ...app,
    });
  return { listener, port, url, reached, log: lines };
}

/** Sends bytes and collects all that comes back until the server closes the connection. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(bytes, "latin1");
  return drainSocket(socket);
}

/** Everything a socket still says until it is closed. */
export async function drainSocket(socket: Socket): Promise<string> {
  let said = "";
  socket.on("data", (chunk: Buffer) => (said += chunk.toString("latin1")));
  if (!socket.closed) await once(socket, "close");
  return said;
}

/** Sends one request with `Connection: close` and reads its answer. */
export async function ask(
  port: number,
  request: string,
  headers: readonly string[] = [],
  body = "",
): Promise<WireAnswer> {
  const lines = [
    request,
    ...headers,
    "Connection: close",
    ...(body ? [`Content-Length: ${Buffer.byteLength(body)}`] : []),
  ];
  return parseAnswer(await exchange(port, `${lines.join("\r\n")}\r\n\r\n${body}`));
}

/** Splits the first answer of what a server said. */
export function parseAnswer(said: string): WireAnswer {
  const split = said.indexOf("\r\n\r\n");
  const head = said.slice(0, split);
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
    head,
    body: said.slice(split + 4),
  };
}
