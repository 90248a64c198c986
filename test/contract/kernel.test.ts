import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  type AnyPlugin,
  createGateway,
  definePlugin,
  GatewayError,
  optional,
  type Service,
  Gateway,
} from "propylon";
import { expect, it } from "vitest";
import { composition } from "../../core/gateway/management/composition.ts";
import { createResolver } from "../../core/gateway/gateway-options.ts";
import { Audit, Management } from "../../core/kit.ts";
import { check } from "../../core/gateway/check/check.ts";
import { parseConfig } from "../../core/gateway/check/parse.ts";
import { BATTERIES, placeOf, roomsOfCore } from "./floors.ts";
import { importGraph, importStatements } from "./imports.ts";
import { GROUPS, report } from "./lines.mjs";

const { batteries, ...beneath } = GROUPS;

/** Every file that a file reaches by imports, types and dynamic ones included unless told otherwise. */
function reachedFrom(
  start: string,
  counts: (file: string, next: string) => boolean = () => true,
): ReadonlySet<string> {
  const graph = importGraph();
  const found = new Set<string>();
  const follow = (file: string): void => {
    if (found.has(file)) return;
    found.add(file);
    for (const next of graph.get(file) ?? []) if (counts(file, next)) follow(next);
  };
  follow(start);
  return found;
}

it("issue 40 line 2: the class Gateway reaches kit, kernel and store, and nothing else of core", () => {
  const files = [...reachedFrom("core/gateway/gateway.ts")];
  const rooms = new Set(files.map((file) => placeOf(file) ?? dirname(file)));
  expect([...rooms].toSorted()).toEqual(Object.values(beneath).flat().toSorted());
});

it("issue 40 line 2: with mcp, servers, tasks and keys off it loads no plugin", async () => {
  const off = { mcp: false, servers: false, tasks: false, keys: false } as const;
  const gateway = await createGateway({ listeners: { main: { port: 0 } }, plugins: off });
  try {
    await gateway.listen();
    expect(composition(gateway)).toEqual([]);
  } finally {
    await gateway.close();
  }
});

it("issue 40 line 2: web sockets are loaded when a handshake comes for a route that takes one, and not before", () => {
  const late = ["core/http/websocket/websockets.ts", "core/http/upgrades.ts"];
  const lines = [...importGraph(["core"], new Map())].flatMap(([file, imports]) =>
    imports.some((path) => late.includes(path))
      ? (readFileSync(file, "utf8").match(
          /^import [^;]*\/(?:websockets|upgrades)\.ts";|^.*\bimport\("[^"]*\/(?:websockets|upgrades)\.ts"\)/gm,
        ) ?? [])
      : [],
  );
  const early = lines.filter((line) => !/^import type |\bimport\(/.test(line));
  expect([lines.length > 4, early]).toEqual([true, []]);
});

it("issue 40 item 7: management and the audit of plugins are loaded for those who ask, and by nothing else", async () => {
  const isStatic = (file: string, next: string) => importStatements(file, next).length > 0;
  const own = [...reachedFrom("core/gateway/management/create.ts", isStatic)].filter(
    (file) => placeOf(file) === "gateway/management",
  );
  expect(own.toSorted()).toEqual([
    "core/gateway/management/create.ts",
    "core/gateway/management/start-managed.ts",
  ]);
  const asked: string[] = [];
  const refuse = (service: string) => (): Promise<never> => {
    asked.push(service);
    return Promise.reject(new GatewayError("not_found", `${service} is not there`));
  };
  const services = { management: refuse("management"), audit: refuse("audit") };
  const start = async (plugin: AnyPlugin): Promise<void> => {
    const plugins = { [plugin.name]: plugin };
    const config = { listeners: { main: { port: 0 } }, plugins: { [plugin.name]: {} } };
    const resolver = createResolver({ plugins });
    const checked = await check(await parseConfig(config, resolver), resolver);
    await (await Gateway.start(checked, { plugins, services })).close();
  };
  await start(definePlugin({ name: "plain", setup() {} }));
  expect(asked).toEqual([]);
  const upper: readonly Service<unknown>[] = [Management, Audit];
  for (const service of upper)
    for (const inject of [{ service }, { service: optional(service) }])
      await expect(start(definePlugin({ name: "asking", inject, setup() {} }))).rejects.toThrow(
        `Plugin "asking" could not be set up: ${service.id} is not there.`,
      );
  expect(asked).toEqual(["management", "management", "audit", "audit"]);
});

it("issue 40 line 2: the report of lines has every room of core once", () => {
  const rooms = Object.values(GROUPS).flat();
  expect(rooms.toSorted()).toEqual([...roomsOfCore(), ...BATTERIES].toSorted());
  expect(batteries).not.toContain("gateway");
  for (const { lines, code } of report()) expect(lines).toBeGreaterThan(code);
});
