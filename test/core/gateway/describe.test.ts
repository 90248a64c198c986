import { collectWarnings } from "../../../core/gateway/management/warnings.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { join } from "node:path";
import { expect, it } from "vitest";
import { definePlugin } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import { makeAuthority } from "../../fixtures/certificate.ts";
import { makeFolder } from "../../kit/folder.ts";

it("M005: a listener takes its certificate from the config, and the description says which ones speak TLS", async () => {
  const tls = makeCertificate();
  const { gateway } = await setupGateway({
    client: false,
    config: { listeners: { main: { port: 0 }, secure: { port: 0, tls } } },
  });
  const { listeners } = gateway.describe();
  expect(listeners).toEqual([
    { name: "main", url: expect.stringMatching(/^http:\/\//), tls: false },
    { name: "secure", url: expect.stringMatching(/^https:\/\//), tls: true },
  ]);
  const ca = readFileSync(tls.cert);
  const status = await new Promise((resolve, reject) => {
    get(`${listeners[1]!.url}/nothing`, { ca }, (res) => {
      res.resume();
      resolve(res.statusCode);
    }).on("error", reject);
  });
  expect(status).toBe(404);
});

it("a warning says what, where in the config, and what to do", async () => {
  const plugins = ["p", "q"].map((name) =>
    definePlugin({
      name,
      setup: (gateway) => gateway.resource("r", { uri: "x://r", read: () => ({ text: name }) }),
    }),
  );
  const { gateway } = await setupGateway({
    plugins,
    client: false,
    config: {
      listeners: { main: { host: "0.0.0.0", port: 0 } },
      insecure: true,
      endpoints: { mcp: { naming: "server" } },
    },
  });
  expect(collectWarnings(gateway)).toEqual([
    {
      code: "open_listener",
      message: expect.stringContaining('"main" is reachable from other machines'),
      path: ["listeners", "main"],
      hint: expect.stringContaining("auth.apiKey"),
    },
    {
      code: "left_out",
      message: expect.stringMatching(/^Endpoint "mcp": The resource "x:..r" of q is here as /),
      path: ["endpoints", "mcp"],
      hint: expect.stringContaining("naming"),
    },
  ]);
});

/** A key pair for this test run only: nothing secret is kept in the repository. */
function makeCertificate(): { readonly cert: string; readonly key: string } {
  const folder = makeFolder();
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const made = makeAuthority({ name: "localhost", hosts: ["localhost", "127.0.0.1"] });
  writeFileSync(cert, made.cert);
  writeFileSync(key, made.key);
  return { cert, key };
}
