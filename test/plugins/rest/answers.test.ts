import { describe, expect, it } from "vitest";
import type { Json } from "../../../core/index.ts";
import { startApiNamed } from "./kit.ts";

const OBJECT: Json = {
  type: "object",
  required: ["id", "name"],
  additionalProperties: false,
  properties: {
    id: { type: "integer", format: "int64", description: "Its number." },
    name: { type: "string", pattern: "^(?P<x>a)$" },
    at: { type: "string", format: "date-time" },
    s: { type: "string", enum: ["a", "b"] },
  },
};

type Sent = readonly [status: number, type: string, body: string | Buffer];
const JSON_TYPE = "application/json";

/** What the API answers, by operation; each is documented as 200 with {@link OBJECT}. */
const ANSWERS: Readonly<Record<string, Sent>> = {
  whole: [200, JSON_TYPE, '{"id":1,"name":"a"}'],
  nulls: [200, JSON_TYPE, '{"id":1,"name":null}'],
  other: [200, JSON_TYPE, '{"id":"7","at":"2026-01-01 10:00:00","s":"c","_links":{}}'],
  empty: [204, "", ""],
  nothing: [200, JSON_TYPE, ""],
  null: [200, JSON_TYPE, "null"],
  list: [200, JSON_TYPE, "[1,2]"],
  number: [200, JSON_TYPE, "5"],
  long: [201, JSON_TYPE, '{"id":1234567890123456789,"state":"a \\"9007199254740993\\""}'],
  longList: [200, JSON_TYPE, "[1234567890123456789]"],
  fraction: [200, JSON_TYPE, '{"a":0.1000000000000000055,"b":1e400}'],
  deep: [200, JSON_TYPE, `${"[".repeat(80)}${"]".repeat(80)}`],
  text: [200, "text/plain", "hello"],
  broken: [200, JSON_TYPE, "{"],
  image: [200, "image/png", Buffer.from("iVBORw0KGgo=", "base64")],
};

/** What each is over HTTP: a success, and the value itself. */
const VALUES: Readonly<Record<string, unknown>> = {
  whole: { id: 1, name: "a" },
  nulls: { id: 1, name: null },
  other: { id: "7", at: "2026-01-01 10:00:00", s: "c", _links: {} },
  empty: "HTTP 204 No Content",
  nothing: "HTTP 200 OK",
  null: null,
  list: [1, 2],
  number: 5,
  long: { id: "1234567890123456789", state: 'a "9007199254740993"' },
  longList: ["1234567890123456789"],
  fraction: { a: "0.1000000000000000055", b: "1e400" },
  deep: ANSWERS["deep"]![2],
  text: "hello",
  broken: "{",
  image: "data:image/png;base64,iVBORw0KGgo=",
};

function documentOf(names: readonly string[]): string {
  const content = { [JSON_TYPE]: { schema: OBJECT } };
  const responses = { "200": { description: "ok", content } };
  const paths = names.map((name) => [`/${name}`, { post: { operationId: name, responses } }]);
  return JSON.stringify({
    openapi: "3.0.3",
    info: { title: "t", version: "1" },
    paths: Object.fromEntries(paths) as Json,
  });
}

async function start(answers: Readonly<Record<string, Sent>>, more: Json = {}) {
  return startApiNamed(
    "pets",
    {
      document: () => documentOf(Object.keys(answers)),
      answer(req, res) {
        const [status, type, body] = answers[req.url!.slice(1)]!;
        req.resume();
        res.writeHead(status, type === "" ? {} : { "content-type": type }).end(body);
      },
    },
    more,
  );
}

describe("a 2xx is a success, whatever the document says of it (rest 3, mcp 2, 4)", () => {
  it.each(["loose", "off"])(
    "outputSchemas: %s: the official SDK and plain HTTP get every answer",
    async (outputSchemas) => {
      const { client, url } = await start(ANSWERS, { outputSchemas });
      const { tools } = await client.listTools();
      expect(tools).toHaveLength(Object.keys(ANSWERS).length);
      for (const [name, [, , body]] of Object.entries(ANSWERS)) {
        const result = (await client.callTool({ name, arguments: {} })) as Json;
        const [block] = result["content"] as Json[];
        const isSaid = typeof body === "string" && body !== "";
        expect([name, result["isError"] ?? false, isSaid ? block!["text"] : body]).toEqual([
          name,
          false,
          body,
        ]);
        const response = await fetch(new URL(`/pets/${name}`, url), { method: "POST" });
        const isText = outputSchemas === "off" && name === "longList";
        const said = await response.text();
        // The list stands in the text alone, with every digit; `json()` would change them.
        const read = isText ? said.includes(`"result":${String(body)}`) : JSON.parse(said);
        const wanted = isText ? true : { ok: true, result: VALUES[name] };
        expect([name, response.status, read]).toMatchObject([name, 200, wanted]);
      }
    },
  );

  it("loose: names and descriptions, nothing that an answer could break; strict: what the document says", async () => {
    const { gateway } = await start({ whole: ANSWERS["whole"]! });
    expect(gateway.servers.get("pets")!.catalogue.tools[0]!.outputSchema).toEqual({
      type: "object",
      properties: { id: { description: "Its number." }, name: {}, at: {}, s: {} },
    });
    const strict = await start({ whole: ANSWERS["whole"]! }, { outputSchemas: "strict" });
    expect(strict.gateway.servers.get("pets")!.catalogue.tools[0]!.outputSchema).toMatchObject({
      required: ["id", "name"],
      // A pattern that is not ECMAScript's takes a client of the SDK all tools of all servers.
      properties: { id: { type: ["integer", "string"] }, name: { type: "string" } },
    });
    expect(JSON.stringify(strict.gateway.servers.get("pets")!.catalogue)).not.toContain("?P<");
    await strict.client.listTools();
    expect(await strict.client.callTool({ name: "whole", arguments: {} })).toMatchObject({
      structuredContent: { id: 1, name: "a" },
    });
  });
});

describe("an answer is read in its charset (mcp 8)", () => {
  const latin = Buffer.from("café", "latin1");
  const utf16be = Buffer.from("\ufeffcafé", "utf16le").swap16();
  const TEXTS: Readonly<Record<string, Sent>> = {
    latin1: [200, "text/plain; charset=ISO-8859-1", latin],
    quoted: [200, 'text/plain; charset="iso-8859-1"', latin],
    json: [200, "application/json; charset=latin1", Buffer.from('"café"', "latin1")],
    utf16: [200, "text/csv; charset=utf-16", Buffer.from("café", "utf16le")],
    utf16be: [200, "text/csv; charset=utf-16", utf16be],
    shiftJis: [200, "text/plain; charset=Shift_JIS", Buffer.from([0x93, 0xfa, 0x96, 0x7b])],
    unknown: [200, "text/plain; charset=x-nothing", Buffer.from("café")],
    none: [200, "text/plain", latin],
    utf8: [200, "text/plain; charset=utf-8", Buffer.from("\ufeffcafé")],
  };

  it("names in content types, byte order marks, none and unknown ones", async () => {
    const { gateway } = await start(TEXTS, { outputSchemas: "off" });
    const found: Json = {};
    for (const name of Object.keys(TEXTS)) {
      const answer = await gateway.call({ server: "pets", name, args: {} });
      found[name] = (answer.result!["content"] as Json[])[0]!["text"];
    }
    const same = Object.fromEntries(Object.keys(TEXTS).map((name) => [name, "café"]));
    expect(found).toEqual({ ...same, json: '"café"', shiftJis: "日本" });
  });
});
