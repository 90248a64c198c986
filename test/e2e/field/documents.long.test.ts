import openapi from "../../../plugins/openapi/index.ts";
import rest from "../../../plugins/rest/index.ts";
import { describe, expect, it } from "vitest";
import { documented, startFieldApi, type FieldAnswer } from "../../fixtures/field/api.ts";
import { callText, startField, toolNames } from "./kit.ts";

const JSON_TYPE = "application/json";

/** A gateway in front of an API, asked by the official client and over HTTP. */
async function start(paths: object, answers: Readonly<Record<string, FieldAnswer>> = {}) {
  const api = await startFieldApi(paths, answers);
  const { client, url } = await startField(
    { servers: { shop: { type: "openapi", spec: `${api.origin}/openapi.json` } } },
    { plugins: [rest, openapi] },
  );
  const post = async (
    name: string,
    args: object = {},
  ): Promise<[number, Record<string, unknown>]> => {
    const body = JSON.stringify(args);
    const headers = { "content-type": JSON_TYPE };
    const response = await fetch(`${url}/shop/${name}`, { method: "POST", headers, body });
    return [response.status, (await response.json()) as Record<string, unknown>];
  };
  return { api, client, post };
}

/** What an API answers besides its document: the operation, and the answer. */
const DEVIATIONS: Readonly<Record<string, [operation: object, answer: FieldAnswer]>> = {
  "a null of what is required": [
    documented("op", { name: { type: "string" } }, { required: ["id", "name"] }),
    [200, JSON_TYPE, '{"id":1,"name":null}'],
  ],
  "a text where a number is documented": [
    documented("op", { id: { type: "integer" } }),
    [200, JSON_TYPE, '{"id":"7"}'],
  ],
  "a date without its T": [
    documented("op", { at: { type: "string", format: "date-time" } }),
    [200, JSON_TYPE, '{"at":"2026-01-01 10:00:00"}'],
  ],
  "a value that is new in an enum": [
    documented("op", { s: { type: "string", enum: ["a", "b"] } }),
    [200, JSON_TYPE, '{"s":"c"}'],
  ],
  "a property more": [
    documented("op", { a: { type: "string" } }, { additionalProperties: false }),
    [200, JSON_TYPE, '{"a":"x","_links":{}}'],
  ],
  "a list in place of an object": [
    documented("op", { a: { type: "string" } }),
    [200, JSON_TYPE, "[1,2]"],
  ],
  "another type in a list of objects": [
    documented("op", { l: { type: "array", items: { type: "object", required: ["a"] } } }),
    [200, JSON_TYPE, '{"l":[5,{}]}'],
  ],
};

describe("an API that answers besides its document", () => {
  it.each(Object.entries(DEVIATIONS))(
    "rest-03: %s arrives once, as it is, at both faces",
    async (_what, [operation, answer]) => {
      const { api, client, post } = await start({ "/op": { post: operation } }, { "/op": answer });
      await client.listTools();
      expect(await callText(client, "op")).toBe(answer[2]);
      expect(await post("op")).toMatchObject([
        200,
        { result: JSON.parse(answer[2] as string) as unknown },
      ]);
      expect(api.received).toHaveLength(2);
    },
  );
});

describe("a success without a body", () => {
  it.each<[string, FieldAnswer]>([
    ["204", [204, "", ""]],
    ["205", [205, "", ""]],
    ["an empty 200 of JSON", [200, JSON_TYPE, ""]],
    ["an empty 202 without a type", [202, "", ""]],
  ])("mcp-04: %s is a success at both faces", async (_what, answer) => {
    const { api, client, post } = await start(
      { "/del": { delete: documented("del", { id: { type: "integer" } }) } },
      { "/del": answer },
    );
    await client.listTools();
    const result = await client.callTool({ name: "del", arguments: {} });
    expect(result["isError"] ?? false).toBe(false);
    expect(await post("del")).toMatchObject([200, { ok: true }]);
    expect(api.received.map(({ method }) => method)).toEqual(["DELETE", "DELETE"]);
  });

  it("mcp-04: null is a success at both faces", async () => {
    const { client, post } = await start(
      { "/del": { delete: documented("del", {}) } },
      { "/del": [200, JSON_TYPE, "null"] },
    );
    await client.listTools();
    expect(await callText(client, "del")).toBe("null");
    expect(await post("del")).toMatchObject([200, { result: null }]);
  });
});

describe("a null of an optional parameter", () => {
  const query = (name: string, type = "string"): object => ({
    name,
    in: "query",
    schema: { type, nullable: false },
  });
  const FIND = {
    "/find": {
      get: {
        operationId: "find",
        parameters: [query("page", "integer"), query("q"), query("owner")],
        responses: {},
      },
    },
  };

  it("mcp-05: is left out of the query that the official client asks for", async () => {
    const { api, client } = await start(FIND);
    await callText(client, "find", { page: null, q: "x", owner: null });
    expect(api.received.map(({ url }) => url)).toEqual(["/find?q=x"]);
  });

  it("mcp-05: all of them are left out, and no question mark is", async () => {
    const { api, client } = await start(FIND);
    await callText(client, "find", { page: null, q: null, owner: null });
    expect(api.received.map(({ url }) => url)).toEqual(["/find"]);
  });

  it("mcp-05: is left out of a form", async () => {
    const schema = { type: "object", properties: { a: { type: "string" }, b: { type: "string" } } };
    const content = { "application/x-www-form-urlencoded": { schema } };
    const { api, client } = await start({
      "/form": { post: { operationId: "send", requestBody: { content }, responses: {} } },
    });
    await callText(client, "send", { a: null, b: "x" });
    expect(api.received.map(({ body }) => body)).toEqual(["b=x"]);
  });
});

describe("an answer in another charset", () => {
  it.each<[string, FieldAnswer, string]>([
    [
      "text of ISO-8859-1",
      [200, "text/plain; charset=ISO-8859-1", Buffer.from("café", "latin1")],
      "café",
    ],
    [
      "JSON of ISO-8859-1",
      [200, "application/json; charset=iso-8859-1", Buffer.from('{"a":"café"}', "latin1")],
      '{"a":"café"}',
    ],
    [
      "CSV of UTF-16",
      [200, "text/csv; charset=utf-16le", Buffer.from("a;café", "utf16le")],
      "a;café",
    ],
    ["text of Windows-1252", [200, "text/plain; charset=windows-1252", Buffer.from([0x80])], "€"],
  ])("mcp-06: %s arrives as its letters", async (_what, answer, words) => {
    const { client, post } = await start(
      { "/text": { get: { operationId: "text", responses: {} } } },
      { "/text": answer },
    );
    expect(await callText(client, "text")).toBe(words);
    const [status, { result }] = await post("text");
    expect([status, JSON.stringify(result)]).toEqual([200, expect.stringMatching(/café|€/)]);
  });

  it("mcp-06: so does the reason of a failure", async () => {
    const { client } = await start(
      { "/text": { get: { operationId: "text", responses: {} } } },
      { "/text": [400, "text/plain; charset=latin1", Buffer.from("kein Café", "latin1")] },
    );
    const result = await client.callTool({ name: "text", arguments: {} });
    expect(result["isError"]).toBe(true);
    expect(JSON.stringify(result["content"])).toContain("kein Café");
  });
});

describe("keys that clients refuse", () => {
  const NAMES = ["filter[name]", "page[size]", "ids[]", "StartTime<", "$top", "x y"];

  it("mcp-23: of a query have safe names, and the API gets its own", async () => {
    const parameters = NAMES.map((name) => ({ name, in: "query", schema: { type: "string" } }));
    const { api, client } = await start({
      "/apps": { get: { operationId: "listApps", parameters, responses: {} } },
    });
    const { tools } = await client.listTools();
    const keys = Object.keys(tools[0]!.inputSchema.properties!);
    for (const key of keys) expect(key).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
    await callText(client, "listApps", Object.fromEntries(keys.map((key) => [key, key])));
    const { searchParams } = new URL(api.received[0]!.url, api.origin);
    expect([...searchParams.keys()]).toEqual(NAMES);
  });

  it("mcp-23: of headers and places in a path have safe names, and work over HTTP", async () => {
    const parameters = [
      { name: "app id", in: "path", required: true, schema: { type: "string" } },
      { name: "X!Mode", in: "header", schema: { type: "string" } },
    ];
    const { api, client, post } = await start({
      "/apps/{app id}": { get: { operationId: "getApp", parameters, responses: {} } },
    });
    const { tools } = await client.listTools();
    const keys = Object.keys(tools[0]!.inputSchema.properties!);
    for (const key of keys) expect(key).toMatch(/^[a-zA-Z0-9_.-]{1,64}$/);
    const args = Object.fromEntries(keys.map((key) => [key, "seven"]));
    expect(await post("getApp", args)).toMatchObject([200, { ok: true }]);
    expect(api.received[0]).toMatchObject({ url: "/apps/seven", headers: { "x!mode": "seven" } });
  });
});

describe("a form whose document says how it is written", () => {
  const deep = { style: "deepObject", explode: true };
  const object = { type: "object", additionalProperties: true };
  const make = (properties: object, encoding: object) => ({
    "/customers": {
      post: {
        operationId: "make",
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              encoding,
              schema: { type: "object", properties },
            },
          },
        },
        responses: {},
      },
    },
  });
  const texts = { type: "array", items: { type: "string" } };

  it.each([
    [
      "maps and lists of deepObject",
      make({ metadata: object, expand: texts }, { metadata: deep, expand: deep }),
      { metadata: { k: "v" }, expand: ["a"] },
      "metadata[k]=v&expand[0]=a",
    ],
    [
      "maps within lists",
      make({ items: { type: "array", items: object } }, { items: deep }),
      { items: [{ price: "p", tags: ["x"] }] },
      "items[0][price]=p&items[0][tags][0]=x",
    ],
    [
      "lists in one value",
      make({ expand: texts }, { expand: { style: "form", explode: false } }),
      { expand: ["a", "b"] },
      "expand=a,b",
    ],
    [
      "JSON by its content type",
      make({ metadata: object }, { metadata: { contentType: JSON_TYPE } }),
      { metadata: { k: "v" } },
      'metadata={"k":"v"}',
    ],
  ])("rest-05: %s", async (_what, paths, args, written) => {
    const { api, client } = await start(paths);
    expect(await toolNames(client)).toEqual(["make"]);
    await callText(client, "make", args);
    expect(decodeURIComponent(api.received[0]!.body)).toBe(written);
  });
});
