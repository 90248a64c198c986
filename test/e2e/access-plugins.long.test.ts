import { join } from "node:path";
import { expect, it } from "vitest";
import { FIRST_PARTY } from "../../core/gateway/check/first-party.ts";
import type { PluginEntry } from "../../core/testing/index.ts";
import a2a from "../../plugins/a2a/index.ts";
import a2aClient from "../../plugins/a2a-client/index.ts";
import access from "../../plugins/access/index.ts";
import admin from "../../plugins/admin/index.ts";
import breaker from "../../plugins/breaker/index.ts";
import consolePlugin from "../../plugins/console/index.ts";
import client from "../../plugins/client/index.ts";
import conformance from "../../plugins/conformance/index.ts";
import events from "../../plugins/events/index.ts";
import gating from "../../plugins/gating/index.ts";
import history from "../../plugins/history/index.ts";
import mcp from "../../plugins/mcp/index.ts";
import metrics from "../../plugins/metrics/index.ts";
import openapi from "../../plugins/openapi/index.ts";
import ratelimit from "../../plugins/ratelimit/index.ts";
import agents from "../../plugins/agents/index.ts";
import health from "../../plugins/health/index.ts";
import lifecycle from "../../plugins/lifecycle/index.ts";
import payloads from "../../plugins/payloads/index.ts";
import progress from "../../plugins/progress/index.ts";
import redis from "../../plugins/redis/index.ts";
import registry from "../../plugins/registry/index.ts";
import rest from "../../plugins/rest/index.ts";
import servers from "../../plugins/servers/index.ts";
import sidecar from "../../plugins/sidecar/index.ts";
import tasks from "../../plugins/tasks/index.ts";
import telemetry from "../../plugins/telemetry/index.ts";
import ui from "../../plugins/ui/index.ts";
import nats from "../../plugins/nats/index.ts";
import postgres from "../../plugins/postgres/index.ts";
import sqlite from "../../plugins/sqlite/index.ts";
import { makeFolder } from "../kit/folder.ts";
import { runAccessMatrix, surprises, type Asked } from "./access-matrix.ts";

/** `npm run campaign -- access` has everybody ask for everything. */
const EVERYONE = process.env["ACCESS_EVERYONE"] === "1";

/** Where all are equal two ask for everybody; `access.long.test.ts` has them all ask, for routes of every kind. */
function isAsked({ route, asker, mode, changes }: Asked): boolean {
  const areEqual = mode === "unlocked" || (!route.mutates && changes !== "allowed");
  return EVERYONE || !areEqual || asker === "wrong" || asker === "caller";
}

/** They ask for credentials by being there, so nothing would be unlocked; their routes have tests of their own. */
const LOCKS: readonly string[] = ["keys", "oauth", "oauth-resource", "team-auth"];
/** They refuse people themselves, on pages and in words of their own, which tests of theirs look at. */
const PAGES: readonly string[] = ["oauth-client", "sessions"];

/** Every other one there is. */
const PLUGINS: readonly PluginEntry[] = [
  // With a skill, because without any it serves nothing.
  [a2a, { listener: "main", workDir: ".", skills: [{ id: "count", command: ["wc", "-w"] }] }],
  a2aClient,
  access,
  // Without this nobody may edit the config.
  [admin, { allowConfigEdits: true }],
  agents,
  breaker,
  client,
  conformance,
  [consolePlugin, { secretKeys: ["a key of the tests, long enough for it"] }],
  events,
  gating,
  health,
  history,
  lifecycle,
  mcp,
  metrics,
  nats,
  openapi,
  payloads,
  postgres,
  progress,
  ratelimit,
  redis,
  registry,
  rest,
  servers,
  sidecar,
  sqlite,
  tasks,
  telemetry,
  ui,
];

it("has every plugin that comes along, but for those that let people in", () => {
  expect(PLUGINS.map((entry) => ("name" in entry ? entry.name : entry[0].name))).toEqual(
    FIRST_PARTY.filter((name) => ![...LOCKS, ...PAGES].includes(name)),
  );
});

it("M127, M155: the routes of the plugins that come with Propylon are for those they say, and none that mutates is forgotten", async () => {
  const folder = makeFolder();
  // Some have tables.
  const setup = { plugins: PLUGINS, config: { store: `sqlite:${join(folder, "gateway.db")}` } };
  const cells = await runAccessMatrix(setup, undefined, isAsked);
  expect(surprises(cells)).toEqual([]);
  const mutating = cells.filter(({ route }) => route.mutates);
  expect(new Set(mutating.map(({ route }) => route.path)).size).toBeGreaterThan(10);
  const readOnly = mutating.filter(({ changes }) => changes === "readOnly");
  expect(readOnly.filter(({ actual }) => actual === "admitted")).toEqual([]);

  // What the management changes is never anyone's but an operator's or admin's; a call is its caller's.
  const managing = cells.filter(
    ({ route: { management, mutates, path } }) =>
      management && mutates && !path.startsWith("/_meta/calls"),
  );
  expect(
    managing.filter(({ route: { access: level } }) => !["operator", "admin"].includes(level)),
  ).toEqual([]);
});
