/**
 * node patched.mjs: imports every entry of the package and prints what that changed of the platform and of undici, the client
 * that the product sends with: values that were there before and are others now.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import events from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import module from "node:module";
import net from "node:net";
import tls from "node:tls";
import * as undici from "undici";

const WATCHED = {
  globalThis,
  AsyncLocalStorage,
  events,
  http,
  http2,
  https,
  module,
  net,
  tls,
  undici,
};
/** For tests of plugins, inside vitest only. */
const NOT_IMPORTED = new Set(["./testing"]);

const { exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url)));
const entries = Object.keys(exports)
  .filter((name) => !name.includes("*") && !name.endsWith(".json") && !NOT_IMPORTED.has(name))
  .map((name) => `propylon${name.slice(1)}`);

const before = new Map(valuesOf(WATCHED));
if (process.argv.includes("--patch")) http.Agent.prototype.createConnection = () => {};
for (const entry of entries) await import(entry);
const after = new Map(valuesOf(WATCHED));
const changed = [...before].filter(([name, value]) => after.get(name) !== value);
process.stdout.write(
  JSON.stringify({ entries, watched: before.size, changed: changed.map(([name]) => name) }),
);

/** Members of the objects, and of what those hold as classes, by their paths. */
function valuesOf(objects, path = "", depth = 0) {
  return Object.entries(Object.getOwnPropertyDescriptors(objects)).flatMap(([name, descriptor]) => {
    const value = descriptor.value ?? descriptor.get;
    const own = [[path + name, value]];
    const inner = typeof value === "function" ? value.prototype : value;
    const isWalked = depth < 2 && inner !== null && ["object", "function"].includes(typeof inner);
    return isWalked && inner !== globalThis.globalThis
      ? [...own, ...valuesOf(inner, `${path}${name}.`, depth + 1)]
      : own;
  });
}
