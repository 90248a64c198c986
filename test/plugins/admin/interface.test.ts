import { digestOf } from "propylon/kit";
import { Panels } from "propylon/panels";
import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { createKey } from "../../../plugins/keys/key.ts";
import { definePlugin, type PluginContext } from "../../../core/index.ts";
import { setupGateway } from "../../../core/testing/index.ts";
import admin from "../../../plugins/admin/index.ts";
import gating from "../../../plugins/gating/index.ts";
import { MANAGED, startManaged } from "./kit.ts";

const TEXT = "export default (element) => { element.textContent = 'hello'; };";

const graph = definePlugin({
  name: "graph",
  setup(gateway: PluginContext) {
    const head = { place: "page", access: "operator" } as const;
    gateway.add(Panels, { ...head, id: "graph", title: "Graph", module: TEXT });
    gateway.add(Panels, {
      ...head,
      id: "state",
      title: "State",
      access: "viewer",
      view: {
        fields: { from: "GET /_meta/version", fields: [{ label: "Node", value: "/node" }] },
      },
    });
  },
});

const keys = { look: createKey("viewer"), run: createKey("operator") };

const start = (management: object = {}) =>
  setupGateway({
    plugins: [[gating, { state: false }], admin, graph],
    client: false,
    config: {
      management,
      auth: {
        keys: {
          look: { role: "viewer", hash: `sha256:${digestOf(keys.look)}` },
          run: { role: "operator", hash: `sha256:${digestOf(keys.run)}` },
        },
      },
    },
  });

// eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
const ask = async (url: string, path: string, key?: string): Promise<any> => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(`${url}${path}`, { headers });
  return { response, body: await response.text() };
};

// eslint-disable-next-line typescript/no-explicit-any -- bodies of all shapes
const describeFor = async (url: string, key?: string): Promise<any> =>
  JSON.parse((await ask(url, "/_meta/ui", key)).body);

it("whoever brings no credentials, or wrong ones, learns how to sign in and nothing else", async () => {
  const { url } = await start();
  const nothing = {
    ok: true,
    name: "propylon",
    version: null,
    generation: null,
    instance: expect.stringMatching(/^\w{12}$/),
    principal: null,
    signIn: [{ kind: "key", authenticators: ["keys"] }],
    readOnly: null,
    warnings: [],
    plugins: [],
    panels: [],
    events: [],
    routes: [],
  };
  expect(await describeFor(url)).toEqual(nothing);
  expect(await describeFor(url, "wrong")).toEqual(nothing);
});

it("M052, M140: says who asks, what they may do, and why not", async () => {
  const { url } = await start();
  const viewer = await describeFor(url, keys.look);
  expect(viewer.principal).toEqual({
    ref: "key:look",
    kind: "key",
    roles: ["viewer"],
    expiresAt: null,
    session: false,
  });
  expect(viewer).toMatchObject({
    generation: 1,
    plugins: expect.arrayContaining(["admin", "graph"]),
    readOnly: {
      scope: "management",
      message: expect.stringContaining("management.mutations is off"),
      hint: expect.stringContaining("--allow-mutations"),
      place: null,
    },
    warnings: [],
  });
  expect(viewer.panels.map(({ id }: { id: string }) => id)).toEqual(["graph/state"]);
  const route = (body: typeof viewer, method: string, path: string): unknown =>
    body.routes.find(
      (each: { method: string; path: string }) => each.method === method && each.path === path,
    );
  expect(route(viewer, "GET", "/_meta/servers")).toEqual({
    method: "GET",
    path: "/_meta/servers",
    access: "viewer",
    mutates: false,
    plugin: "admin",
    management: true,
    socket: false,
    allowed: true,
    why: null,
  });
  expect(route(viewer, "POST", "/_meta/reload")).toMatchObject({ allowed: false, why: "role" });
  const operator = await describeFor(url, keys.run);
  expect(route(operator, "POST", "/_meta/reload")).toMatchObject({
    allowed: false,
    why: "read_only",
  });
  expect(route(operator, "POST", "/_meta/servers")).toMatchObject({ why: "role" });
});

it("with mutations on nothing is ruled out but by the role; read-only rules out all", async () => {
  const open = await start({ mutations: true });
  expect((await describeFor(open.url, keys.run)).readOnly).toBeNull();
  const closed = await start({ mutations: true, readOnly: true });
  expect((await describeFor(closed.url, keys.run)).readOnly).toMatchObject({
    scope: "everything",
  });
});

it("a panel's module is served to who may see the panel, and nobody else", async () => {
  const { url } = await start();
  const { panels } = await describeFor(url, keys.run);
  const { module } = panels.find(({ id }: { id: string }) => id === "graph/graph");
  const { response, body } = await ask(url, module, keys.run);
  expect(body).toBe(TEXT);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "text/javascript; charset=utf-8",
    "x-content-type-options": "nosniff",
    "cache-control": "private, max-age=31536000, immutable",
  });
  const stale = await ask(url, "/_meta/ui/panels/graph/graph?v=old", keys.run);
  expect(stale.response.headers.get("cache-control")).toBe("no-cache");
  expect((await ask(url, module, keys.look)).response.status).toBe(404);
  expect((await ask(url, module)).response.status).toBe(401);
  expect((await ask(url, "/_meta/ui/panels/graph/state", keys.run)).response.status).toBe(404);
});

it("an open gateway needs no sign-in, and warns where it is exposed", async () => {
  const managed = await startManaged(
    MANAGED.replace("{ port: 0 }", '{ host: "0.0.0.0", port: 0 }').replace(
      "mutations: true",
      "mutations: false\ninsecure: true",
    ),
  );
  const { body } = await managed.meta("GET", "/ui");
  expect(body.signIn).toEqual([{ kind: "open" }]);
  expect(body.principal).toMatchObject({ ref: "anonymous:anonymous" });
  expect(body.warnings[0]).toMatchObject({
    code: "open_listener",
    hint: expect.stringContaining("auth.apiKey"),
  });
  expect(body.readOnly.place).toMatch(/gateway\.yaml:6:14$/);
});

it("a reload that takes a plugin out takes its panels out", async () => {
  const managed = await startManaged(MANAGED.replace("gating: {}", "gating: {}\n  payloads: {}"));
  const before = await managed.meta("GET", "/ui");
  expect(before.body.plugins).toContain("payloads");
  expect(before.body.panels[0]).toMatchObject({ id: "payloads/usage", place: "overview" });
  const text = await readFile(managed.file, "utf8");
  await writeFile(managed.file, text.replace("payloads: {}", ""));
  await (await managed.gateway.manage()).reload();
  const { body } = await managed.meta("GET", "/ui");
  expect(body.plugins).not.toContain("payloads");
  expect(body.panels).toEqual([]);
  expect(body.generation).toBe(2);
});
