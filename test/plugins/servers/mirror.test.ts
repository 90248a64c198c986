import fc from "fast-check";
import type { Json } from "propylon";
import { describe, expect, it } from "vitest";
import {
  encodeHeader,
  mirrorArguments,
  readMirrors,
} from "../../../plugins/servers/wire/envelope.ts";
import { rounds } from "../../fixtures/ci.ts";

function tool(properties: Json, more: Json = {}): { name: string; inputSchema: Json } {
  return { name: "t", inputSchema: { type: "object", properties, ...more } };
}

function header(name: unknown, type: unknown = "string"): Json {
  return { type, "x-mcp-header": name };
}

describe("readMirrors (MCP 2026-07-28, x-mcp-header)", () => {
  it("finds annotations at any depth of properties", () => {
    const { mirrors } = readMirrors([
      tool({
        a: header("A"),
        b: { type: "object", properties: { c: header("C", "integer") } },
        plain: { type: "string" },
      }),
    ]);
    expect(mirrors.get("t")).toEqual([
      { path: ["a"], header: "Mcp-Param-A" },
      { path: ["b", "c"], header: "Mcp-Param-C" },
    ]);
  });

  it.each([
    ["empty name", tool({ a: header("") })],
    ["space", tool({ a: header("My Region") })],
    ["colon", tool({ a: header("A:B") })],
    ["non-ASCII", tool({ a: header("Région") })],
    ["control character", tool({ a: header("A\t1") })],
    ["no string", tool({ a: header(1) })],
    ["object", tool({ a: header("A", "object") })],
    ["number", tool({ a: header("A", "number") })],
    ["no type", tool({ a: { "x-mcp-header": "A" } })],
    ["twice", tool({ a: header("A"), b: header("a") })],
    ["under items", tool({ a: { type: "array", items: header("A") } })],
    ["under oneOf", tool({ a: { oneOf: [header("A")] } })],
    ["in $defs", tool({}, { $defs: { a: header("A") } })],
    ["on the schema itself", tool({}, { "x-mcp-header": "A" })],
  ])("leaves out a tool with an invalid annotation: %s", (_, bad) => {
    const good = { ...tool({ a: header("A") }), name: "good" };
    const { tools, refused } = readMirrors([bad, good]);
    expect(tools).toEqual([good]);
    expect([...refused.keys()]).toEqual(["t"]);
  });
});

describe("mirrorArguments", () => {
  const { mirrors } = readMirrors([
    tool({
      s: header("S"),
      n: header("N", "integer"),
      b: header("B", "boolean"),
      o: { type: "object", properties: { x: header("X") } },
    }),
  ]);
  const of = (args: Json | undefined): string[] => mirrorArguments(mirrors.get("t")!, args);

  it("writes strings, integers and booleans and omits what is absent or null", () => {
    expect(of({ s: "us-west1", n: 42, b: false, o: { x: "in" } })).toEqual([
      "Mcp-Param-S",
      "us-west1",
      "Mcp-Param-N",
      "42",
      "Mcp-Param-B",
      "false",
      "Mcp-Param-X",
      "in",
    ]);
    expect(of({ s: null, o: "no object" })).toEqual([]);
    expect(of({ s: {}, n: Number.MAX_SAFE_INTEGER + 2 })).toEqual([]);
    expect(of(undefined)).toEqual([]);
  });

  it("any text survives as a header value", () => {
    const decode = (value: string): string => {
      const match = /^=\?base64\?(.*)\?=$/.exec(value);
      return match ? Buffer.from(match[1]!, "base64").toString("utf8") : value;
    };
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.string(),
      fc.constantFrom("", " padded ", "\tindented", "a\r\nb", "=?base64?eA==?=", "Hello, 世界"),
    );
    const property = fc.property(text, (value) => {
      const encoded = encodeHeader(value);
      expect(encoded).toMatch(/^[\x20-\x7e\t]*$/);
      expect(encoded.trim()).toBe(encoded);
      expect(decode(encoded)).toBe(Buffer.from(value, "utf8").toString("utf8"));
    });
    fc.assert(property, { numRuns: rounds(10_000) });
  });
});
