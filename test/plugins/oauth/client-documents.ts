import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";
import { makeAuthority } from "../../fixtures/certificate.ts";
import { REDIRECT } from "./kit.ts";

/** Answers as a host of documents; `url` is that of one. */
export type Serve = (req: IncomingMessage, res: ServerResponse, url: string) => void;

/** A host with documents, over TLS. @returns the URL of one, and the paths that were asked for */
export async function serveDocuments(
  serve: Serve,
): Promise<{ readonly url: string; readonly paths: string[] }> {
  // The certificate is one that nobody vouches for; the gateway of the test is this process.
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  const paths: string[] = [];
  const server = createServer(
    makeAuthority({ name: "localhost", hosts: ["localhost"] }),
    (req, res) => {
      paths.push(req.url!);
      serve(req, res, url);
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `https://localhost:${(server.address() as AddressInfo).port}/client.json`;
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { url, paths };
}

export const documentOf = (client_id: string): object => ({
  client_id,
  client_name: "A program with a document",
  redirect_uris: [REDIRECT, "javascript:alert(1)"],
  token_endpoint_auth_method: "none",
});

export const sendJson = (res: ServerResponse, body: object, headers = {}): void =>
  void res
    .writeHead(200, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
