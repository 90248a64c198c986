import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { createGateway } from "../../../core/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { MANAGED, SCRIPTED, startManaged, whenReady, type ManagedGateway } from "./kit.ts";

const WITH_OFF = MANAGED.replace(
  "\n  # does",
  `\n  off: { command: node, args: ["\${SCRIPTED}"], enabled: false }\n  # does`,
);
const callEcho = ({ url }: ManagedGateway, server: string): Promise<Response> =>
  fetch(`${url}/${server}/echo`, {
    method: "POST",
    body: '{"text":"hi"}',
    headers: { "content-type": "application/json" },
  });

describe("a server that the config leaves out", () => {
  it("is listed as switched off, and nothing of it runs", async () => {
    const managed = await startManaged(WITH_OFF);
    const { body } = await managed.meta("GET", "/servers");
    expect(
      body.servers.map(({ name, enabled }: { name: string; enabled: boolean }) => [name, enabled]),
    ).toEqual([
      ["alpha", true],
      ["off", false],
    ]);
    const one = await managed.meta("GET", "/servers/off");
    expect(one.body.server).toMatchObject({
      enabled: false,
      connected: false,
      state: "closed",
      transport: "stdio",
      reason: expect.stringContaining("config"),
      config: { enabled: false },
    });
    expect((await managed.meta("GET", "/servers/off/tools")).body.tools).toEqual([]);
    const reinit = await managed.meta("POST", "/reinit/off");
    expect([reinit.status, reinit.body.error.code]).toEqual([403, "disabled"]);
  });

  it("is switched on: it runs, answers, and stays on after a reload", async () => {
    const managed = await startManaged(WITH_OFF);
    const { status, body } = await managed.meta("POST", "/servers/off/enable");
    expect([status, body]).toEqual([
      200,
      { ok: true, server: "off", enabled: true, changed: true },
    ]);
    await whenReady(managed, "off");
    expect(await (await callEcho(managed, "off")).json()).toMatchObject({ ok: true });
    expect((await managed.meta("GET", "/servers/off")).body.server.enabled).toBe(true);
    await managed.meta("POST", "/reload");
    expect((await managed.meta("GET", "/servers/off")).body.server.state).toBe("ready");
    const again = await managed.meta("POST", "/servers/off/enable");
    expect(again.body).toMatchObject({ enabled: true, changed: false });
    expect(await readFile(managed.file, "utf8")).toContain("enabled: true");
  });

  it("can be added switched off and enabled then, also in bulk", async () => {
    const managed = await startManaged(WITH_OFF);
    await managed.meta("POST", "/servers", {
      name: "beta",
      command: "node",
      args: [SCRIPTED],
      enabled: false,
    });
    const changes = [
      { server: "beta", enabled: true },
      { server: "off", enabled: true },
      { server: "alpha", enabled: false },
    ];
    const { body } = await managed.meta("POST", "/bulk", { changes });
    expect(body.changed).toHaveLength(3);
    await Promise.all([whenReady(managed, "beta"), whenReady(managed, "off")]);
    expect((await callEcho(managed, "beta")).status).toBe(200);
    expect((await callEcho(managed, "alpha")).status).toBe(403);
  });

  it("without a file to write it is refused with the reason, and never said to be on", async () => {
    const gateway = await createGateway(
      {
        listeners: { main: { port: 0 } },
        management: { mutations: true },
        servers: { off: { command: "node", args: [SCRIPTED], enabled: false } },
        plugins: { gating: {}, admin: {} },
      },
      { plugins: { gating, admin } },
    );
    await gateway.listen();
    const url = `${gateway.addresses.get("main")!.url}/_meta/servers/off`;
    const answer = await fetch(`${url}/enable`, { method: "POST" });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { code: "no_config_mode" } });
    const { server } = (await (await fetch(url)).json()) as { server: { enabled: boolean } };
    expect(server.enabled).toBe(false);
    await gateway.close();
  });
});
