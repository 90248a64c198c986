import { Validator } from "@cfworker/json-schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const schema = JSON.parse(readFileSync(join(ROOT, "gateway.schema.json"), "utf8")) as object;

const configs = ["templates", "playground"]
  .flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      join(ROOT, folder, name),
    ),
  )
  .filter((file) => /gateway\.ya?ml$/.test(file) && !file.includes("node_modules"))
  .map((file) => relative(ROOT, file));

const ajv = new Ajv2020({
  strict: false,
  allErrors: true,
  validateFormats: true,
  formats: { uri: isUri },
});
const check = ajv.compile(schema);

/** As editors ask for it: a whole URI, in which no brace may stand. */
function isUri(text: string): boolean {
  return URL.canParse(text) && !/[{}\s]/.test(text);
}

/** What an editor underlines: the texts of one validator, and whether a second one agrees. */
function problems(value: unknown): readonly string[] {
  const isRight = check(value);
  expect(new Validator(schema, "2020-12").validate(value).valid).toBe(isRight);
  return (check.errors ?? []).map(
    ({ instancePath, message = "", params }) =>
      `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

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
        plugins: { progress: { heartbeat: "${BEAT}" } },
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
        },
      }),
    ).toEqual([]);
  });

  it.each([
    [{ servers: { a: { comand: "npx" } } }, "/servers/a", "comand"],
    [{ servers: { a: { command: "npx", arguments: [] } } }, "/servers/a", "arguments"],
    [{ servers: { a: { url: "https://a.example/", header: {} } } }, "/servers/a", "header"],
    [{ servers: { a: { type: "openapi", enabled: 7 } } }, "/servers/a/enabled", ""],
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
