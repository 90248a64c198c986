import { collectWarnings } from "../../core/gateway/management/warnings.ts";
import { describe, expect, it } from "vitest";
import {
  definePlugin,
  type Access,
  type GatewayConfigInput,
  type Mutation,
} from "../../core/index.ts";
import { setupGateway } from "../../core/testing/index.ts";
import {
  ASKERS,
  CHANGES,
  configOf,
  fateOf,
  MODES,
  runAccessMatrix,
  surprises,
} from "./access-matrix.ts";

const ALL_ACCESS: readonly Access[] = [
  "public",
  "principal",
  "viewer",
  "caller",
  "operator",
  "service",
  "admin",
];
let runs = 0;

/** One route of every kind there is. */
const kinds = definePlugin({
  name: "kinds",
  setup(gateway) {
    for (const access of ALL_ACCESS)
      for (const mutates of [false, true])
        for (const management of [false, true])
          gateway.route(
            mutates ? "POST" : "GET",
            `/${access}/${management ? "managed" : "plain"}/:id`,
            { access, mutates, management },
            () => ({ ok: true, run: ++runs }),
          );
  },
});
const ROUTES = ALL_ACCESS.length * 4;

describe("M032, M069, M122, M155: every route x everyone x every mode", () => {
  it("becomes what the route declares, M127: and every route that mutates is 403 read_only in read-only mode", async () => {
    runs = 0;
    const mutations: Mutation[] = [];
    const cells = await runAccessMatrix({ plugins: [kinds] }, (gateway) => {
      gateway.hook("mutation", (mutation) => mutations.push(mutation));
    });
    expect(surprises(cells)).toEqual([]);
    expect(cells).toHaveLength((ROUTES + 1) * ASKERS.length * MODES.length * CHANGES.length);

    // A refused request never ran: handlers were reached exactly as often as they should.
    const routes = cells.filter(({ route }) => route.path !== "/mcp");
    expect(runs).toBe(routes.filter(({ expected }) => expected === "admitted").length);

    const changed = routes.filter(({ route }) => route.mutates);
    const readOnly = changed.filter(({ changes }) => changes === "readOnly");
    expect(readOnly.filter(({ expected }) => expected === "admitted")).toEqual([]);
    expect(new Set(readOnly.map(({ route }) => route.path)).size).toBe(ROUTES / 2);

    // M143: each attempt is told once, in order, with how it ended.
    expect(mutations.map(({ status, error }) => [status, error])).toEqual(
      changed.map(({ status, expected }) => [status, expected === "admitted" ? null : expected]),
    );
  });

  it("strict off opens what viewers look at and nothing else, as expected here by the table itself", () => {
    for (const access of ALL_ACCESS)
      for (const mutates of [false, true])
        for (const changes of CHANGES)
          for (const asker of ASKERS) {
            const route = { method: "POST", path: "/", access, mutates, management: true } as const;
            const strict = fateOf(route, asker, "strict", changes);
            const open = fateOf(route, asker, "open", changes);
            const same = mutates || access !== "viewer" || asker === "wrong";
            expect(open).toBe(same ? strict : "admitted");
          }
  });
});

describe("the description of routes", () => {
  it("says access, mutates, management and what is open, as the modes have it", async () => {
    for (const mode of MODES) {
      const { gateway } = await setupGateway({
        plugins: [kinds],
        config: configOf(mode, "allowed"),
        client: false,
      });
      const { routes } = gateway.describe();
      expect(routes).toHaveLength(ROUTES);
      for (const route of routes) {
        expect(route.path).toBe(`/${route.access}/${route.management ? "managed" : "plain"}/:id`);
        expect(route.method).toBe(route.mutates ? "POST" : "GET");
        expect(route.open).toBe(fateOf(route, "none", mode, "allowed") === "admitted");
      }
    }
  });
});

it("M159: without a management API its routes do not exist, and the others do", async () => {
  const { url, gateway } = await setupGateway({
    plugins: [kinds],
    config: { management: { enabled: false } },
    client: false,
  });
  expect(gateway.describe().routes.filter(({ management }) => management)).toEqual([]);
  for (const access of ALL_ACCESS) {
    expect((await fetch(`${url}/${access}/managed/1`)).status).toBe(404);
    expect((await fetch(`${url}/${access}/managed/1`, { method: "POST" })).status).toBe(404);
    expect((await fetch(`${url}/${access}/plain/1`)).status).toBe(200);
  }
});

it("M142: the management may change nothing until that is asked for, and says which option allows it", async () => {
  const { url } = await setupGateway({ plugins: [kinds], client: false });
  const post = async (kind: string) =>
    (await fetch(`${url}/admin/${kind}/1`, { method: "POST" })).json();
  expect(await post("managed")).toEqual({
    ok: false,
    error: {
      code: "read_only",
      message: "The management API may not change anything: management.mutations is off.",
      hint: "Set management.mutations: true, or start with --allow-mutations.",
    },
  });
  expect(await post("plain")).toMatchObject({ ok: true });
});

it("M139: a reload into read-only stops every change with the next request, and tools and reads go on", async () => {
  const tool = definePlugin({
    name: "tool",
    setup: (gateway) => gateway.tool("say", { description: "Says it.", run: () => "said" }),
  });
  const { gateway, url, client } = await setupGateway({ plugins: [kinds, tool] });
  const post = async () => (await fetch(`${url}/public/plain/1`, { method: "POST" })).status;
  expect(await post()).toBe(200);
  await gateway.apply({ ...gateway.written, management: { readOnly: true, mutations: true } });
  expect(await post()).toBe(403);
  expect((await fetch(`${url}/admin/managed/1`)).status).toBe(200);
  expect(await client.callTool({ name: "say" })).toMatchObject({
    content: [{ type: "text", text: "said" }],
  });
  await gateway.apply({ ...gateway.written, management: { readOnly: false } });
  expect(await post()).toBe(200);
});

it("M032: keys or tokens of any kind are authentication enough for a port that others reach; none is not", async () => {
  const start = (auth: GatewayConfigInput["auth"]) =>
    setupGateway({
      config: { listeners: { main: { host: "0.0.0.0", port: 0 } }, ...(auth && { auth }) },
      client: false,
    });
  const hash = `sha256:${"0".repeat(64)}`;
  for (const auth of [
    { apiKey: "a-key-of-16-chars!" },
    { keys: { ci: { role: "viewer" as const, hash } } },
    {
      jwt: {
        secret: "a secret of at least 32 characters",
        issuer: "https://login.example",
        audience: "gateway",
      },
    },
  ]) {
    const { gateway } = await start(auth);
    expect(collectWarnings(gateway)).toEqual([]);
    const [endpoint] = gateway.describe().endpoints;
    expect(endpoint!.open).toBe(false);
  }
  await expect(start(undefined)).rejects.toThrow("open to the network");
});
