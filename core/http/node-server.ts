import { readFile } from "node:fs/promises";
import {
  createServer as createPlainServer,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { GatewayConfig, ListenerConfig } from "../config/schema.ts";
import { GatewayError } from "../kit/errors.ts";
import type { CreateServer } from "./app.ts";
import { HttpAnswer, HttpRequest, KEEP_ALIVE_MS } from "./http-messages.ts";

const TCP_PROBE_MS = 30_000;

/** What the server of a listener is made from. */
interface NodeServerOptions {
  readonly name: string;
  readonly config: ListenerConfig;
  readonly limits: GatewayConfig["limits"];
  readonly createServer: CreateServer | undefined;
}

/**
 * Creates the HTTP or HTTPS server of a listener, not yet listening.
 *
 * @throws {GatewayError} `invalid` when a TLS file cannot be read or used
 */
export async function createNodeServer(
  { name, config, limits, createServer = createPlainServer }: NodeServerOptions,
  onRequest: RequestListener,
): Promise<Server> {
  const options = serverOptions(limits);
  const server = config.tls
    ? await createTlsServer(name, config.tls, options, onRequest)
    : createServer(options, onRequest);
  server.maxConnections = limits.connections;
  // Both time only the arrival of a request. An answer may take as long as it likes.
  server.timeout = 0;
  return server;
}

function serverOptions(limits: GatewayConfig["limits"]): ServerOptions {
  return {
    IncomingMessage: HttpRequest,
    // Its methods take what those of Node take; their overloads cannot be written once more.
    ServerResponse: HttpAnswer as unknown as typeof ServerResponse,
    insecureHTTPParser: false,
    // Ours to answer, with a sentence.
    requireHostHeader: false,
    // Two Host or Authorization headers then match nothing, in place of the first one winning.
    joinDuplicateHeaders: true,
    maxHeaderSize: limits.header,
    headersTimeout: Math.min(limits.headersTimeout, limits.requestTimeout),
    requestTimeout: limits.requestTimeout,
    // Node looks every 30 s by default: 500 of 500 slow-loris sockets were still open after 35 s.
    connectionsCheckingInterval: 1_000,
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_PROBE_MS,
  };
}

async function createTlsServer(
  name: string,
  tls: NonNullable<ListenerConfig["tls"]>,
  options: ServerOptions,
  onRequest: RequestListener,
): Promise<Server> {
  const [cert, key] = await Promise.all([
    readPem(name, "cert", tls.cert),
    readPem(name, "key", tls.key),
  ]);
  const secure = {
    cert,
    key,
    minVersion: "TLSv1.2",
    handshakeTimeout: options.headersTimeout ?? 5_000,
  } as const;
  try {
    return createSecureServer(
      {
        ...options,
        ...secure,
        ...(tls.passphrase !== undefined && { passphrase: tls.passphrase }),
      },
      onRequest,
    );
  } catch (error) {
    throw new GatewayError(
      "invalid",
      `The TLS certificate and key of listener "${name}" cannot be used together.`,
      {
        cause: error,
        hint: `Check that ${tls.cert} and ${tls.key} are PEM files of one pair and that the passphrase is right.`,
      },
    );
  }
}

async function readPem(name: string, option: "cert" | "key", file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new GatewayError(
      "invalid",
      `The TLS ${option} file of listener "${name}" cannot be read: ${file}.`,
      {
        cause: error,
        hint: `Correct listeners.${name}.tls.${option}, or the permissions of the file.`,
      },
    );
  }
}

/**
 * Binds a server.
 * @throws {GatewayError} `io_error` with what stands in the way
 */
export function bind(server: Server, name: string, config: ListenerConfig): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void =>
      reject(bindFailure(error, name, config));
    server.once("error", onError);
    server.listen({ host: config.host, port: config.port }, () => {
      server.off("error", onError);
      const bound = server.address();
      if (bound !== null && typeof bound === "object") resolve(bound);
    });
  });
}

function bindFailure(
  error: NodeJS.ErrnoException,
  name: string,
  { host, port }: ListenerConfig,
): GatewayError {
  const details = { cause: error, data: { listener: name, host, port } };
  switch (error.code) {
    case "EADDRINUSE":
      return new GatewayError(
        "io_error",
        `Listener "${name}": port ${port} on ${host} is already in use.`,
        {
          ...details,
          hint: `Stop the program that uses it, or choose another listeners.${name}.port.`,
        },
      );
    case "EACCES":
      return new GatewayError(
        "io_error",
        `Listener "${name}": this user may not bind port ${port}.`,
        {
          ...details,
          hint: "Choose a port of 1024 or above.",
        },
      );
    default:
      return new GatewayError(
        "io_error",
        `Listener "${name}": cannot bind ${host}:${port} (${error.code ?? "unknown error"}).`,
        {
          ...details,
          hint: `Check listeners.${name}.host.`,
        },
      );
  }
}
