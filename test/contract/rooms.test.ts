import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, it } from "vitest";
import { importGraph } from "./imports.ts";

const graph = importGraph();
const files = [...graph.keys()].filter((file) => file.startsWith("core/"));

/** The names that stand more than once. */
const twice = (names: readonly string[]): readonly string[] => [
  ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
];

it("no file of core has the name of another, but for the doors that packages export", () => {
  const names = files.map((file) => basename(file)).filter((name) => name !== "index.ts");
  expect(names.length).toBeGreaterThan(200);
  expect(twice(names)).toEqual([]);
});

it("no exported type of core has the name of another", () => {
  const declared = /^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;
  const names = files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(declared)].map(([, name]) => name!),
  );
  expect(names.length).toBeGreaterThan(300);
  expect(twice(names)).toEqual([]);
});

/** The folder of core that a file is in; "" for the files beside the folders. */
const roomOf = (file: string): string => (file.split("/").length > 2 ? file.split("/")[1]! : "");

/** The door of each folder. Every further file here is one more thing that a reader must know. */
it("the files of a folder that other folders import are these", () => {
  const found: Record<string, string[]> = {};
  for (const [file, imports] of graph) {
    if (!file.startsWith("core/") || file.startsWith("core/testing/")) continue;
    for (const path of imports) {
      const room = roomOf(path);
      if (path.startsWith("core/") && room !== "" && room !== roomOf(file))
        (found[room] ??= []).push(basename(path, ".ts"));
    }
  }
  const doors = Object.fromEntries(
    Object.entries(found).map(([room, names]) => [room, [...new Set(names)].toSorted()]),
  );
  expect(doors).toMatchInlineSnapshot(`
    {
      "build": [
        "build",
      ],
      "call": [
        "actor",
        "answer",
        "bridge",
        "built-in-stages",
        "call",
        "cancellation",
        "chunks",
        "content",
        "outcome",
        "pipeline",
        "stages",
        "types",
      ],
      "cli": [
        "container",
        "exit",
        "flags",
        "start",
      ],
      "config": [
        "check",
        "checks",
        "clients",
        "code",
        "config",
        "document",
        "file",
        "file-digest",
        "file-names",
        "first-party",
        "header-template",
        "headers",
        "issue",
        "jsonschema",
        "load",
        "mask",
        "names",
        "options",
        "origin",
        "parse",
        "plugin-module",
        "resolve",
        "rsa-algorithm",
        "schema",
        "secret-text",
        "selectors",
        "server-auth",
        "server-schema",
        "spelling",
        "units",
        "variables",
        "watch",
        "write",
      ],
      "gateway": [
        "activate",
        "composition",
        "create",
        "dry-run",
        "endpoint-server",
        "gateway",
        "gateway-options",
        "open-store",
        "per-generation",
      ],
      "http": [
        "allowed-hosts",
        "audit",
        "authentication",
        "authenticator",
        "backlog",
        "failure",
        "guard",
        "guesses",
        "http-messages",
        "key",
        "key-set",
        "leases",
        "listener",
        "listeners",
        "people",
        "port",
        "principal",
        "proxies",
        "request",
        "route",
        "route-table",
        "token-memory",
        "token-rules",
      ],
      "kit": [
        "addresses",
        "backoff",
        "bounded-record",
        "buckets",
        "check-shape",
        "digest",
        "env",
        "exact-json",
        "exact-number",
        "expiring-map",
        "fetched-value",
        "json",
        "json-grammar",
        "json-pointer",
        "json-scan",
        "kept",
        "libraries",
        "lock",
        "parse-variables",
        "problem-text",
        "provider-http",
        "recent",
        "replace-file",
        "safe-keys",
        "semaphore",
        "sse-body",
        "tool-name",
        "turns",
        "wildcard",
      ],
      "plugin": [
        "command",
        "control",
        "declared-events",
        "defaults",
        "define-plugin",
        "definitions",
        "description",
        "emitter",
        "event-kind",
        "filters",
        "graph",
        "hooks",
        "keep",
        "metrics",
        "panel",
        "panel-checks",
        "plugin",
        "plugin-checks",
        "plugin-context",
        "plugin-event",
        "scope",
        "service",
        "setup",
      ],
      "process": [
        "child",
        "environment",
        "stderr",
        "stdio",
      ],
      "server": [
        "catalogue",
        "entries",
        "guarded-server",
        "left-out",
        "left-out-entry",
        "plugin-server",
        "pool",
        "refreshed-server",
        "refresher",
        "schema-flaws",
        "server",
        "server-type",
        "server-types",
        "status",
        "tool-call",
        "trouble",
      ],
      "store": [
        "ask",
        "database",
        "driver",
        "gateway-store",
        "local-events",
        "memory",
        "records",
        "store",
        "store-key",
      ],
      "testing": [
        "index",
      ],
      "workers": [
        "channel",
        "primary",
        "protocol",
        "role",
        "worker-seat",
      ],
    }
  `);
});
