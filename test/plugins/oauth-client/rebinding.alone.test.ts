import { lookup, type LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { ProviderHttp } from "../../../core/kit/provider-http.ts";
import { ClientDocuments } from "../../../plugins/oauth/clients/client-documents.ts";
import { providerFault } from "../../../plugins/oauth-client/provider/faults.ts";
import { makeAuthority } from "../../fixtures/certificate.ts";

type Lookup = (
  host: string,
  options: object,
  done: (error: null, found: LookupAddress[]) => void,
) => void;

vi.mock("node:dns", async (original) => ({
  ...(await original<typeof import("node:dns")>()),
  lookup: vi.fn<Lookup>(),
}));

const NAME = "login.example.org";
const OUTSIDE = "127.0.0.2";
const INSIDE = "127.0.0.1";

/** Answers over TLS at one address, and tells which one it was. */
async function serve(address: string, port: number): Promise<Server> {
  const server = createServer(makeAuthority({ name: NAME, hosts: [NAME] }), (_req, res) => {
    res.writeHead(200, { "content-type": "application/json", connection: "close" });
    res.end(JSON.stringify({ address }));
  }).listen(port, address);
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return server;
}

/** A host whose name leads outside, inside, to both, and outside again. */
async function setupHost() {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  // In this order: a port that is free inside is free outside too, where nobody else listens.
  const inside = await serve(INSIDE, 0);
  const { port } = inside.address() as AddressInfo;
  await serve(OUTSIDE, port);
  const connected = vi.fn<() => void>();
  inside.on("connection", connected);
  const answers = [[OUTSIDE], [INSIDE], [OUTSIDE, INSIDE], [OUTSIDE]];
  const resolve: Lookup = (_host, _options, done) =>
    done(
      null,
      answers.shift()!.map((address) => ({ address, family: 4 })),
    );
  vi.mocked(lookup).mockImplementation(resolve as never);
  return { port, answers, connected };
}

it("a name that leads outside first and inside then gets nothing from inside (DNS rebinding)", async () => {
  const { port, answers, connected } = await setupHost();
  const http = new ProviderHttp({
    allowedAddresses: [`${OUTSIDE}/32`],
    option: "allowedAddresses",
    timeout: 5_000,
    fault: providerFault,
  });
  onTestFinished(() => http.close());
  const fetch = http.from([new URL("https://mcp.example.org/mcp")]);
  const ask = async (): Promise<unknown> => {
    const response = await fetch(`https://${NAME}:${port}/token`, { method: "POST", body: "x" });
    return response.json();
  };
  expect(await ask()).toEqual({ address: OUTSIDE });
  await expect(ask()).rejects.toThrow("not allowed");
  await expect(ask()).rejects.toThrow("not allowed");
  expect(await ask()).toEqual({ address: OUTSIDE });
  expect(answers).toEqual([]);
  expect(connected).not.toHaveBeenCalled();
});

it("a document of a program is not read inside either", async () => {
  const { port, answers, connected } = await setupHost();
  const documents = new ClientDocuments([`${OUTSIDE}/32`]);
  onTestFinished(() => documents.close());
  // Each of another URL: what is known of one is not asked for again.
  const read = (path: string): Promise<object> =>
    documents.read(`https://${NAME}:${port}/${path}`, "a");
  await expect(read("1")).rejects.toThrow("it is not such a document");
  await expect(read("2")).rejects.toThrow("its address is not public");
  await expect(read("3")).rejects.toThrow("its address is not public");
  await expect(read("4")).rejects.toThrow("it is not such a document");
  expect(answers).toEqual([]);
  expect(connected).not.toHaveBeenCalled();
});
