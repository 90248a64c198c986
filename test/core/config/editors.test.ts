import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { problems, schema } from "../../fixtures/editor.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

const configs = ["templates", "playground"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      join(ROOT, folder, name),
    ),
  )
  .filter((file) => /gateway\.ya?ml$/.test(file) && !file.includes("node_modules"))
  .map((file) => relative(ROOT, file));

describe("gateway.schema.json in an editor", () => {
  it("finds the configs that projects begin with", () => {
    expect(configs.length).toBeGreaterThan(6);
  });

  it.each(configs)("has nothing to say about %s", (file) => {
    expect(problems(parse(readFileSync(join(ROOT, file), "utf8")))).toEqual([]);
  });

  it("takes a variable wherever a text, number or boolean stands", () => {
    expect(
      problems({
        name: "${NAME}",
        publicUrl: "${PUBLIC_URL:-http://127.0.0.1:${PORT:-8080}}",
        auth: { apiKey: "${KEY}", jwt: { secret: "${SECRET}", jwks: "${JWKS}" } },
        listeners: { main: { port: "${PORT:-8080}" } },
        log: { level: "${LEVEL:-info}" },
        limits: { depth: "${DEPTH}" },
        servers: {
          a: { url: "https://${HOST}/mcp", prefix: "${PREFIX}", transport: "${T}" },
          b: { command: "${COMMAND}", enabled: "${ON}" },
        },
        plugins: { progress: { heartbeatInterval: "${BEAT}" } },
      }),
    ).toEqual([]);
  });

  it("takes what other clients write", () => {
    expect(
      problems({
        servers: {
          a: { type: "stdio", command: "npx", disabled: true, disabledTools: ["x"] },
          b: { type: "http", serverUrl: "https://a.example/mcp" },
          c: { type: "openapi", spec: "./pets.yaml", timeout: "5s" },
          d: { type: "a2a", url: "https://${HOST}", refreshInterval: "1m", enabled: "${ON}" },
          e: { type: "kind-of-your-own", any: 1 },
        },
      }),
    ).toEqual([]);
  });

  it.each([
    [{ servers: { a: { comand: "npx" } } }, "/servers/a", "comand"],
    [{ servers: { a: { command: "npx", arguments: [] } } }, "/servers/a", "arguments"],
    [{ servers: { a: { url: "https://a.example/", header: {} } } }, "/servers/a", "header"],
    [{ servers: { a: { type: "openapi", enabled: 7 } } }, "/servers/a/enabled", ""],
    [{ servers: { a: { type: "openapi", spec: "x", specs: 1 } } }, "/servers/a", "specs"],
    [{ servers: { a: { type: "openapi" } } }, "/servers/a", "spec"],
    [
      { servers: { a: { type: "a2a", url: "https://a.example", cards: "x" } } },
      "/servers/a",
      "cards",
    ],
    [
      { servers: { a: { type: "a2a", url: "https://a.example", dialect: "2" } } },
      "/servers/a/dialect",
      "",
    ],
    [{ plugins: { admin: { setle: 1 } } }, "/plugins/admin", "setle"],
    [{ plugins: { gating: { timeouts: { mx: 1 } } } }, "/plugins/gating/timeouts", "mx"],
    [{ agents: { a: { model: "x/y", instructons: "z" } } }, "/agents/a", "instructons"],
    [{ publicUrl: "not a url" }, "/publicUrl", ""],
  ])("underlines %j at its place", (value, path, key) => {
    const found = problems(value).filter((text) => text.startsWith(`${path} `));
    expect(found.join("\n")).toContain(key === "" ? path : `"${key}"`);
  });

  it("describes the options of every plugin that comes with Propylon", () => {
    const { properties } = schema as {
      properties: Record<string, { properties: Record<string, object> }>;
    };
    expect(Object.keys(properties["plugins"]!.properties)).toEqual(
      expect.arrayContaining([
        "a2a",
        "admin",
        "agents",
        "gating",
        "openapi",
        "sidecar",
        "telemetry",
      ]),
    );
  });
});
