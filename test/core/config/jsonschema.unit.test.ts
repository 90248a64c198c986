import { Validator } from "@cfworker/json-schema";
import { readFile } from "node:fs/promises";
import { definePlugin } from "propylon";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { configJsonSchema } from "../../../core/gateway/check/jsonschema.ts";
import { firstPartyPlugins } from "../../../core/gateway/check/first-party.ts";

const accepts = (schema: object, value: unknown): boolean =>
  new Validator(schema, "2020-12").validate(value).valid;

describe("JSON Schema of the config", () => {
  it("is what the build wrote for editors", async () => {
    const file = new URL("../../../gateway.schema.json", import.meta.url);
    const schema = configJsonSchema(await firstPartyPlugins());
    expect(JSON.parse(await readFile(file, "utf8"))).toEqual(JSON.parse(JSON.stringify(schema)));
  });

  it("accepts what the loader does, and refuses what it refuses", () => {
    const schema = configJsonSchema();
    expect(
      accepts(schema, {
        $schema: "x",
        "x-a": 1,
        mcpServers: { a: { type: "http", url: "u", autoApprove: [] } },
        listeners: { main: { port: "${PORT:-8080}" } },
      }),
    ).toBe(true);
    expect(
      accepts(schema, { servers: { a: { command: "npx", enabled: "${ON}", timeout: "30s" } } }),
    ).toBe(true);
    expect(accepts(schema, { servers: { a: { comand: "npx" } } })).toBe(false);
    expect(accepts(schema, { listeners: { main: { port: "8080" } } })).toBe(false);
    expect(accepts(schema, { bogus: 1 })).toBe(false);
  });

  it("describes the options of plugins, each of which may be switched off", () => {
    const echo = definePlugin({
      name: "echo",
      config: z.strictObject({ loud: z.boolean().default(false) }),
      setup() {},
    });
    const schema = configJsonSchema({ "./echo.ts": echo });
    expect(accepts(schema, { plugins: { "./echo.ts": { loud: true } } })).toBe(true);
    expect(accepts(schema, { plugins: { "./echo.ts": false, other: { any: 1 } } })).toBe(true);
    expect(accepts(schema, { plugins: { "./echo.ts": { laud: true } } })).toBe(false);
  });
});
