import { pino } from "pino";
import { definePlugin, GatewayError } from "propylon";
import { expect, it } from "vitest";
import { ERROR_STATUS } from "../../core/kit/errors.ts";
import { setupGateway } from "../../core/testing/index.ts";
import { send, startGateway, startRevocable, whenState } from "./kit.ts";

const KEY = "a-key-of-sixteen-or-more";

/** Routes that fail in every way a route can. */
const failing = definePlugin({
  name: "failing",
  setup(gateway) {
    const access = { access: "public", mutates: false } as const;
    gateway.route("GET", "/invalid", access, () => {
      throw new GatewayError("invalid", "No such colour.", { data: { field: "colour" } });
    });
    gateway.route("GET", "/broken", access, () => {
      throw new Error("secret detail");
    });
    gateway.route("GET", "/admin-only", { access: "admin", mutates: false }, () => ({ ok: true }));
    gateway.tool("slow", {
      description: "Never answers.",
      run: () => new Promise<string>(() => {}),
    });
  },
});

it("has the statuses of the specification's taxonomy", () => {
  expect(ERROR_STATUS).toMatchObject({
    timeout: 504,
    not_found: 404,
    exists: 409,
    invalid: 422,
    io_error: 500,
    reload_failed: 500,
    reinit_failed: 500,
    no_config_mode: 400,
    no_config: 400,
    disabled: 403,
  });
});

it("M081: a call that exceeds its effective timeout fails with timeout, 504", async () => {
  const { gateway } = await setupGateway({ plugins: [failing], client: false });
  const failure = await gateway
    .call({ server: "failing", name: "slow", timeout: 20 })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "timeout", status: 504, data: { timeout: 20 } });
});

it("M082: a missing server and a missing route are not_found, 404", async () => {
  const { gateway, url } = await setupGateway({ plugins: [failing], client: false });
  const failure = await gateway
    .call({ server: "absent", name: "x" })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "not_found", status: 404 });
  const reply = await send(`${url}/absent?secret=1`);
  expect(reply.status).toBe(404);
  expect(JSON.parse(reply.text)).toMatchObject({ ok: false, error: { code: "not_found" } });
  expect(reply.text).not.toContain("secret");
});

it("M084, M012: a payload that fails validation is invalid, 422, in the envelope", async () => {
  const { url } = await setupGateway({ plugins: [failing], client: false });
  const reply = await send(`${url}/invalid`);
  expect(reply.status).toBe(422);
  expect(reply.headers["content-type"]).toContain("application/json");
  expect(JSON.parse(reply.text)).toEqual({
    ok: false,
    error: { code: "invalid", message: "No such colour.", data: { field: "colour" } },
  });
});

it("M141: an unexpected failure is logged with its cause and answered with the envelope, without the detail", async () => {
  const lines: string[] = [];
  const log = pino({ level: "error" }, { write: (line: string) => void lines.push(line) });
  const { url } = await setupGateway({ plugins: [failing], client: false, log });
  const reply = await send(`${url}/broken`);
  expect(reply.status).toBe(500);
  expect(JSON.parse(reply.text)).toMatchObject({ ok: false, error: { code: "internal" } });
  expect(reply.text).not.toContain("secret detail");
  const logged = lines.join("");
  expect(logged).toContain("secret detail");
  expect(logged).toContain("errors.test.ts");
});

it("M156: every 403 of the gateway itself has the envelope and a code", async () => {
  const { url } = await setupGateway({
    plugins: [failing],
    client: false,
    config: { auth: { apiKey: KEY } },
  });
  const refused = [
    await send(`${url}/invalid`, { headers: { host: "evil.example" } }),
    await send(`${url}/invalid`, { headers: { origin: "http://evil.example" } }),
    await send(`${url}/mcp`, { method: "POST", headers: { origin: "http://evil.example" } }),
  ];
  const error = { code: "forbidden", message: expect.any(String) as string };
  // Clients of MCP endpoints read JSON-RPC bodies only.
  const rpc = { jsonrpc: "2.0", error: { message: error.message, data: { code: "forbidden" } } };
  for (const [index, { status, text }] of refused.entries()) {
    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject(index === 2 ? rpc : { ok: false, error });
  }
});

it("M032, M069: an API key protects the endpoint and every route that is not public; without one they are open", async () => {
  const route = definePlugin({
    name: "pages",
    setup(gateway) {
      gateway.route("GET", "/open", { access: "public", mutates: false }, () => ({ page: "open" }));
      gateway.route("GET", "/mine", { access: "principal", mutates: false }, () => ({
        page: "mine",
      }));
    },
  });
  const closed = await setupGateway({
    plugins: [route],
    client: false,
    config: { auth: { apiKey: KEY } },
  });
  const paths = ["/mine", "/mcp"];
  for (const path of paths) {
    for (const headers of [{}, { authorization: "Bearer wrong-key-of-some-length" }]) {
      const reply = await send(closed.url + path, {
        method: path === "/mcp" ? "POST" : "GET",
        headers,
      });
      expect(reply.status).toBe(401);
      expect(reply.headers["www-authenticate"]).toMatch(/^Bearer/);
      const error = { code: "unauthorized" };
      expect(JSON.parse(reply.text)).toMatchObject(
        path === "/mcp" ? { jsonrpc: "2.0", error: { data: error } } : { ok: false, error },
      );
    }
  }
  const headers = { authorization: `Bearer ${KEY}` };
  expect((await send(`${closed.url}/mine`, { headers })).status).toBe(200);
  expect((await send(`${closed.url}/open`)).status).toBe(200);
  const open = await setupGateway({ plugins: [route], client: false });
  expect((await send(`${open.url}/mine`)).status).toBe(200);
});

it("T012: a server that refuses the gateway's credentials is an error for the caller, a state with a reason, and a log line", async () => {
  const lines: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
  const upstream = await startRevocable();
  const { gateway } = await startGateway({
    client: false,
    log,
    config: { servers: { mine: { url: upstream.url } } },
  });
  upstream.revoke();
  const failure = await gateway
    .call({ server: "mine", name: "echo", args: { text: "x" } })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "upstream_error", status: 502 });
  expect((failure as Error).message).toContain("401");
  const { state, reason } = gateway.servers.get("mine")!.status;
  expect(["connecting", "backoff"]).toContain(state);
  expect(reason).toContain("401");
  await whenState(gateway.servers.get("mine")!, "backoff");
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ server: "mine", reason: expect.stringContaining("401") }),
  );
});
