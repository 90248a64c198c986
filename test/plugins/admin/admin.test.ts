import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { digestOf } from "propylon/kit";
import { describe, expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { testPlugin } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { MANAGED, SCRIPTED, startManaged, whenReady } from "./kit.ts";

testPlugin(admin, {
  config: {},
  changed: { settleTimeout: 1 },
  with: [[gating, { state: false }]],
});

describe("reading", () => {
  it("M056, M057: lists servers with flags, states and counts", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    const { status, body } = await managed.meta("GET", "/servers");
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      servers: [
        expect.objectContaining({
          name: "alpha",
          enabled: true,
          connected: true,
          state: "ready",
          reason: null,
          transport: "stdio",
          origin: "config",
          pid: expect.any(Number),
          breaker: null,
          health: null,
          tools: { total: expect.any(Number), enabled: expect.any(Number) },
        }),
      ],
    });
    expect(body.servers[0].serverInfo.name).toBe("something-else");
  });

  it("M058: lists the tools of a server sorted by name, with their flags", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    const { body } = await managed.meta("GET", "/servers/alpha/tools");
    const names: string[] = body.tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual([...names].toSorted());
    expect(names).toContain("echo");
    expect(body.tools[0]).toMatchObject({
      enabled: true,
      available: true,
      inputSchema: { type: "object" },
    });
    expect((await managed.meta("GET", "/servers/nobody/tools")).status).toBe(404);
  });

  it("M059: says where the config is, never what is in it", async () => {
    const managed = await startManaged(MANAGED);
    expect((await managed.meta("GET", "/config")).body).toEqual({ ok: true, path: managed.file });
  });

  it("shows the effective config with its secrets masked", async () => {
    const managed = await startManaged(
      `${MANAGED}auth: { strict: false }\n`.replace(
        "  # does",
        "  web: { url: 'http://user:hunter2@127.0.0.1:1/mcp', headers: { x-key: sesame } }\n  # does",
      ),
    );
    const { body } = await managed.meta("GET", "/config/effective");
    expect(body.config).toMatchObject({ name: "managed", management: { mutations: true } });
    expect(JSON.stringify(body)).not.toMatch(/hunter2|sesame/);
    const one = await managed.meta("GET", "/servers/web");
    expect(one.body.server.config.headers).toEqual({ "x-key": "***" });
  });

  it("M071: tells version and generation", async () => {
    const managed = await startManaged(MANAGED);
    const { body } = await managed.meta("GET", "/version");
    expect(body).toMatchObject({
      ok: true,
      name: "managed",
      generation: 1,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
    });
  });

  it("M073: exports the state", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    await managed.meta("POST", "/servers/alpha/tools/echo/disable");
    const { body } = await managed.meta("GET", "/state");
    expect(body.state).toMatchObject({
      version: 1,
      servers: { alpha: { enabled: true, tools: { echo: { enabled: false } } } },
    });
  });
});

describe("switching", () => {
  it("M064, M065, M093: a server goes off and on, and both are idempotent", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    const off = await managed.meta("POST", "/servers/alpha/disable");
    expect(off.body).toEqual({ ok: true, server: "alpha", enabled: false, changed: true });
    expect((await managed.meta("POST", "/servers/alpha/disable")).body.changed).toBe(false);
    expect((await managed.meta("GET", "/servers")).body.servers[0].enabled).toBe(false);
    expect((await managed.meta("GET", "/servers/alpha/tools")).body.tools[0]).toMatchObject({
      enabled: true,
      available: false,
    });
    expect((await managed.meta("POST", "/servers/alpha/enable")).body.changed).toBe(true);
    expect((await managed.meta("POST", "/servers/nobody/enable")).status).toBe(404);
  });

  it("M047, M066, M067, M094, M137: a disabled tool is refused with the next call, the others are not", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    const call = async (): Promise<number> =>
      (
        await fetch(`${managed.url}/alpha/echo`, {
          method: "POST",
          body: '{"text":"x"}',
          headers: { "content-type": "application/json" },
        })
      ).status;
    expect(await call()).toBe(200);
    await managed.meta("POST", "/servers/alpha/tools/echo/disable");
    expect(await call()).toBe(403);
    expect((await managed.meta("POST", "/servers/alpha/tools/echo/disable")).body.changed).toBe(
      false,
    );
    await managed.meta("POST", "/servers/alpha/tools/echo/enable");
    expect(await call()).toBe(200);
    expect((await managed.meta("POST", "/servers/alpha/tools/nothing/disable")).status).toBe(404);
  });

  it("M072: many at once, all or none", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    const off = (tool: string) => ({ server: "alpha", tool, enabled: false });
    const { body } = await managed.meta("POST", "/bulk", { changes: [off("echo"), off("hang")] });
    expect(body).toEqual({ ok: true, changed: [off("echo"), off("hang")] });
    const wrong = await managed.meta("POST", "/bulk", { changes: [off("delay"), off("nothing")] });
    expect(wrong.status).toBe(404);
    const { tools } = (await managed.meta("GET", "/servers/alpha/tools")).body;
    const isOff = tools.filter(({ enabled }: { enabled: boolean }) => !enabled);
    expect(isOff.map(({ name }: { name: string }) => name)).toEqual(["echo", "hang"]);
    expect((await managed.meta("POST", "/bulk", { changes: [] })).body.error.code).toBe("invalid");
  });
});

describe("servers", () => {
  it("M017, M019, M030, M062, M095, M136: an added server answers calls at once, and the file keeps all else", async () => {
    const managed = await startManaged(MANAGED);
    const { status, body } = await managed.meta("POST", "/servers", {
      name: "beta",
      command: "node",
      args: [SCRIPTED],
    });
    expect(status).toBe(201);
    expect(body.server).toMatchObject({ name: "beta", state: "ready", connected: true });
    const answer = await fetch(`${managed.url}/beta/echo`, {
      method: "POST",
      body: '{"text":"hi"}',
      headers: { "content-type": "application/json" },
    });
    expect(await answer.json()).toMatchObject({ ok: true });
    const text = await readFile(managed.file, "utf8");
    expect(text).toContain("# the gateway of the team");
    expect(text).toContain("# does what it is told");
    expect(text).toMatch(/beta:/);
  });

  it("M083, M096: a name that is taken is refused, and nothing changes", async () => {
    const managed = await startManaged(MANAGED);
    const before = await managed.digest();
    const { status, body } = await managed.meta("POST", "/servers", {
      name: "alpha",
      url: "http://127.0.0.1:1/mcp",
    });
    expect([status, body.error.code]).toEqual([409, "exists"]);
    expect(await managed.digest()).toBe(before);
  });

  it("M084, M118, M123: a command that is not allowed is refused, and nothing changes", async () => {
    const managed = await startManaged(MANAGED);
    const before = await managed.digest();
    for (const body of [
      { name: "evil", command: "node", args: [SCRIPTED, "--slow", "1"] },
      { name: "evil", command: "sh", args: ["-c", "id"] },
      { name: "evil", command: "node", args: [SCRIPTED], env: { A: "1" } },
      { name: "_meta", command: "node", args: [SCRIPTED] },
      { name: "evil" },
    ]) {
      const answer = await managed.meta("POST", "/servers", body);
      expect([answer.status, answer.body.error.code]).toEqual([422, "invalid"]);
    }
    expect((await managed.meta("POST", "/servers", "{")).body.error.code).toBe("bad_request");
    expect(await managed.digest()).toBe(before);
  });

  it("M063, M097, M144: a removed server's tools are gone, and the file has its old bytes", async () => {
    const managed = await startManaged(MANAGED);
    const before = await managed.digest();
    await managed.meta("POST", "/servers", { name: "beta", command: "node", args: [SCRIPTED] });
    expect(await managed.digest()).not.toBe(before);
    const { body } = await managed.meta("DELETE", "/servers/beta");
    expect(body).toEqual({ ok: true, server: "beta", generation: 3 });
    expect((await fetch(`${managed.url}/beta/echo`, { method: "POST" })).status).toBe(404);
    expect((await managed.meta("GET", "/servers/beta")).status).toBe(404);
    expect((await managed.meta("DELETE", "/servers/beta")).status).toBe(404);
    expect(await managed.digest()).toBe(before);
  });

  it("M144: a server can be added switched off, tried by nobody, and taken back", async () => {
    const managed = await startManaged(MANAGED);
    const { body } = await managed.meta("POST", "/servers", {
      name: "beta",
      url: "http://127.0.0.1:1/mcp",
      enabled: false,
    });
    expect(body.server).toEqual({ name: "beta", enabled: false });
    expect(
      (await managed.meta("POST", "/servers", { name: "beta", url: "http://h/" })).status,
    ).toBe(409);
    expect((await managed.meta("DELETE", "/servers/beta")).status).toBe(200);
  });

  it("a server that cannot be reached is added, and says so", async () => {
    const managed = await startManaged(MANAGED);
    const { status, body } = await managed.meta("POST", "/servers", {
      name: "beta",
      url: "http://127.0.0.1:1/mcp",
    });
    expect(status).toBe(201);
    expect(body.server).toMatchObject({
      connected: false,
      state: "backoff",
      reason: expect.any(String),
    });
  });

  it("M085: a file that cannot be written is an io_error, and memory and file stay", async () => {
    const managed = await startManaged(MANAGED);
    const before = await managed.digest();
    // Root may write everywhere, so the folder goes away in place of its permission.
    const folder = dirname(managed.file);
    await rename(folder, `${folder}-away`);
    const { status, body } = await managed.meta("POST", "/servers", {
      name: "beta",
      url: "http://127.0.0.1:1/mcp",
    });
    await rename(`${folder}-away`, folder);
    expect([status, body.error.code]).toEqual([500, "io_error"]);
    expect((await managed.meta("GET", "/servers/beta")).status).toBe(404);
    expect(await managed.digest()).toBe(before);
    await chmod(folder, 0o700);
  });

  it("M088, M089: without a config file there is nothing to change or reload", async () => {
    const { setupGateway } = await import("../../../core/testing/index.ts");
    const { url } = await setupGateway({
      plugins: [[gating, { state: false }], admin],
      config: { management: { mutations: true } },
      client: false,
    });
    const post = async (path: string, body = {}): Promise<{ error: { code: string } }> => {
      const headers = { "content-type": "application/json" };
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return (await fetch(`${url}/_meta${path}`, init)).json() as Promise<{
        error: { code: string };
      }>;
    };
    expect((await post("/reload")).error.code).toBe("no_config");
    expect((await post("/servers", { name: "a", url: "http://h/" })).error.code).toBe(
      "no_config_mode",
    );
  });
});

describe("reload and reinit", () => {
  it("M060, M099, M135: reload adds, removes and changes what differs and leaves the rest", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    const { pid } = (await managed.meta("GET", "/servers/alpha")).body.server;
    const text = await readFile(managed.file, "utf8");
    await writeFile(
      managed.file,
      text.replace("  # does", `  beta: { command: node, args: ["${SCRIPTED}"] }\n  # does`),
    );
    const dry = await managed.meta("POST", "/reload?dry=1");
    expect(dry.body).toMatchObject({
      ok: true,
      dry: true,
      servers: { added: ["beta"], unchanged: ["alpha"] },
    });
    expect((await managed.meta("GET", "/servers/beta")).status).toBe(404);
    const { status, body } = await managed.meta("POST", "/reload");
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ok: true,
      generation: 2,
      servers: { added: ["beta"], removed: [], changed: [], unchanged: ["alpha"] },
    });
    await whenReady(managed, "beta");
    expect((await managed.meta("GET", "/servers/alpha")).body.server.pid).toBe(pid);
    await writeFile(managed.file, text);
    expect((await managed.meta("POST", "/reload")).body.servers.removed).toEqual(["beta"]);
  });

  it("M086: a wrong file is refused with its place, and the old config serves on", async () => {
    const managed = await startManaged(MANAGED);
    await writeFile(managed.file, "servers: { alpha: { comand: node } }\n");
    for (const path of ["/reload", "/reload?dry=1"]) {
      const { status, body } = await managed.meta("POST", path);
      expect([status, body.error.code]).toEqual([500, "reload_failed"]);
      expect(JSON.stringify(body)).toMatch(/gateway\.yaml:1/);
    }
    expect((await managed.meta("GET", "/servers/alpha")).status).toBe(200);
  });

  it("M042, M061, M098: reinit gives a server a new connection and keeps its flags", async () => {
    const managed = await startManaged(MANAGED);
    await whenReady(managed, "alpha");
    await managed.meta("POST", "/servers/alpha/tools/echo/disable");
    const { pid } = (await managed.meta("GET", "/servers/alpha")).body.server;
    const { status, body } = await managed.meta("POST", "/reinit/alpha");
    expect(status).toBe(200);
    expect(body.server).toMatchObject({ state: "ready" });
    expect(body.server.pid).not.toBe(pid);
    const { tools } = (await managed.meta("GET", "/servers/alpha/tools")).body;
    expect(tools.find(({ name }: { name: string }) => name === "echo").enabled).toBe(false);
    expect((await managed.meta("POST", "/reinit/nobody")).status).toBe(404);
  });

  it("M043, M087, M138: reinit of all says which did not come back, and why", async () => {
    const managed = await startManaged(
      MANAGED.replace("  # does", "  dead: { url: 'http://127.0.0.1:1/mcp' }\n  # does"),
    );
    await whenReady(managed, "alpha");
    const { status, body } = await managed.meta("POST", "/reinit");
    expect([status, body.error.code]).toEqual([500, "reinit_failed"]);
    expect(body.error.data.servers).toEqual([
      { name: "dead", ok: false, error: expect.objectContaining({ code: "reinit_failed" }) },
      { name: "alpha", ok: true },
    ]);
    expect((await managed.meta("GET", "/servers/dead")).body.server).toMatchObject({
      connected: false,
      state: "backoff",
    });
    await managed.meta("DELETE", "/servers/dead");
    expect((await managed.meta("POST", "/reinit")).body).toMatchObject({
      ok: true,
      servers: [{ name: "alpha" }],
    });
  });
});

it("M029: offers no installation from Git, neither as a route nor as an option", async () => {
  const managed = await startManaged(MANAGED);
  const { body } = await managed.meta("GET", "");
  expect(JSON.stringify(body.routes)).not.toMatch(/git|install/i);
  const wrong = await managed.meta("POST", "/servers", {
    name: "x",
    git: "https://example.com/x.git",
  });
  expect(wrong.body.error.code).toBe("invalid");
});

it("answers for every route of the documented catalogue, and documents every route it has", async () => {
  const managed = await startManaged(MANAGED);
  const { body } = await managed.meta("GET", "");
  const own = body.routes.filter(({ plugin }: { plugin: string }) => plugin === "admin");
  const page = await readFile(new URL("../../../docs/plugins/admin.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| `(GET|POST|PUT|DELETE) ([^`]+)`/gm)].map(
    ([, method, path]) => `${method} ${path}`,
  );
  const running = own.map(
    ({ method, path }: { method: string; path: string }) => `${method} ${path}`,
  );
  expect(running.toSorted()).toEqual(
    documented
      .map((route) => route.replace("POST .../", "POST /_meta/servers/:server/"))
      .toSorted(),
  );
});

it("tells what went wrong with a server to operators, not to viewers", async () => {
  const viewer = createKey("viewer");
  const operator = createKey("operator");
  const managed = await startManaged(
    `${MANAGED.replace("  # does", "  dead: { url: 'http://127.0.0.1:1/mcp' }\n  # does")}auth:
  keys:
    viewer: { role: viewer, hash: "sha256:${digestOf(viewer)}" }
    operator: { role: operator, hash: "sha256:${digestOf(operator)}" }
`,
  );
  const ask = async (key: string): Promise<{ state: string; reason: string | null }> => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${managed.url}/_meta/servers/dead`, { headers });
    return ((await response.json()) as { server: { state: string; reason: string | null } }).server;
  };
  await expect.poll(async () => (await ask(operator)).state).toBe("backoff");
  expect((await ask(operator)).reason).toMatch(/refused/);
  expect(await ask(viewer)).toMatchObject({ state: "backoff", reason: null, lastError: null });
});
