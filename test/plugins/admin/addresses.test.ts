import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AllowedAddresses } from "propylon/kit";
import { expect, it, onTestFinished } from "vitest";
import { startManaged } from "./kit.ts";

const CONFIG = `plugins: { gating: { state: false }, admin: {} }
management: { mutations: true }
`;

/** A server inside the operator's network that must hear of nobody. */
async function startInside(): Promise<{ port: number; requests: () => number }> {
  let requests = 0;
  const server = createServer((_req, res) => {
    requests++;
    res.end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, requests: () => requests };
}

it.each([
  "http://127.0.0.1:PORT/mcp",
  "http://localhost:PORT/mcp",
  "http://[::1]:PORT/mcp",
  "http://[::ffff:127.0.0.1]:PORT/mcp",
  "http://2130706433:PORT/mcp",
  "http://0x7f.1:PORT/mcp",
  "http://169.254.169.254/latest/meta-data",
  "http://[fd00:ec2::254]/latest",
  "http://[fe80::1]/",
  "http://10.0.0.1/mcp",
])("32: %s cannot be added over the API, and nobody is connected to", async (url) => {
  const inside = await startInside();
  const managed = await startManaged(CONFIG);
  const before = await managed.digest();
  const added = await managed.meta("POST", "/servers", {
    name: "inside",
    url: url.replace("PORT", String(inside.port)),
  });
  expect([added.status, added.body.error?.code]).toEqual([422, "invalid"]);
  expect(added.body.error.hint).toContain("plugins.admin.allowedAddresses");
  expect(await managed.digest()).toBe(before);
  expect(inside.requests()).toBe(0);
});

it("32: what the operator allows can be added; the entry says what its name may lead to", async () => {
  const inside = await startInside();
  const managed = await startManaged(
    CONFIG.replace("admin: {}", "admin: { settleTimeout: 0, allowedAddresses: [127.0.0.0/8] }"),
  );
  const { status } = await managed.meta("POST", "/servers", {
    name: "inside",
    url: `http://127.0.0.1:${inside.port}/mcp`,
  });
  expect(status).toBe(201);
  await expect.poll(inside.requests).toBeGreaterThan(0);
  const { body } = await managed.meta("GET", "/servers/inside");
  expect(body.server.config.allowAddresses).toEqual(["127.0.0.0/8"]);
});

it.each(["streamable-http", "sse"])(
  "32: a name is checked whenever it is connected to, over %s",
  async (transport) => {
    const inside = await startInside();
    const { gateway } = await startManaged(`servers:
  moved: { url: "http://localhost:${inside.port}/mcp", transport: ${transport}, allowAddresses: [] }
  free: { url: "http://localhost:${inside.port}/mcp", transport: ${transport} }
`);
    const reason = (): string => gateway.servers.get("moved")!.status.reason ?? "";
    await expect.poll(reason).toContain("address that is not allowed");
    // Entries that were written by hand go where they say.
    await expect.poll(inside.requests).toBeGreaterThan(0);
    expect(gateway.servers.get("free")!.status.reason).not.toContain("not allowed");
  },
);

it("a resolver that answers otherwise the second time gains nothing", async () => {
  const answers = ["93.184.216.34", "127.0.0.1"];
  const guard = new AllowedAddresses([], "test").guard(
    () => new Error("not allowed"),
    (_host, _options, done) => done(null, [{ address: answers.shift()!, family: 4 }]),
  );
  const ask = (): Promise<unknown> =>
    new Promise((resolve) => {
      guard("rebind.example", { all: false }, (error, address) => resolve(error ?? address));
    });
  expect(await ask()).toBe("93.184.216.34");
  expect(await ask()).toEqual(new Error("not allowed"));
});
