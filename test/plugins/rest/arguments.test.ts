import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../core/index.ts";
import { startApi, type PetApi } from "./api.ts";
import { callPets, startPets, toolOf } from "./kit.ts";

const SAFE = /^[a-zA-Z0-9_.-]{1,64}$/;

function documentOf(paths: Json, more: Json = {}): string {
  return JSON.stringify({ openapi: "3.1.0", info: { title: "t", version: "1" }, paths, ...more });
}

/** One operation `op`. */
function operation(method: string, written: Json, more: Json = {}): string {
  return documentOf(
    { "/op": { [method]: { operationId: "op", responses: {}, ...written } } },
    more,
  );
}

const query = (name: string, schema: Json = { type: "string" }, more: Json = {}): Json => ({
  name,
  in: "query",
  schema,
  ...more,
});
const body = (type: string, schema: Json, more: Json = {}): Json => ({
  requestBody: { content: { [type]: { schema, ...more } } },
});

async function start(document: string, more: Json = {}) {
  const api = await startApi(document);
  const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml`, ...more });
  expect(gateway.servers.get("pets")!.status).toMatchObject({ state: "ready" });
  return {
    gateway,
    api,
    properties: () => toolOf(gateway, "op").inputSchema["properties"] as Json,
    call: async (args: Json) => {
      const result = await callPets(gateway, "op", args);
      expect(result).not.toHaveProperty("isError");
      return api.received.at(-1)!;
    },
  };
}

async function formOf({ headers, body: bytes }: PetApi["received"][number]) {
  const type = headers["content-type"]!;
  return new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
}

describe("a null of an optional parameter is left out (mcp 6)", () => {
  it("in queries, deep objects, lists, headers and cookies", async () => {
    const list = { type: "array", items: { type: "string" } };
    const parameters = [
      query("page", { type: "integer" }),
      query("q"),
      query("ids", list),
      query("csv", list, { explode: false }),
      query("filter", { type: "object" }, { style: "deepObject" }),
      { name: "X-Opt", in: "header", schema: { type: "string" } },
      { name: "ck", in: "cookie", schema: { type: "string" } },
    ];
    const { call } = await start(operation("get", { parameters }));
    const nothing = { page: null, "X-Opt": null, ck: null };
    const { url, headers } = await call({
      ...nothing,
      q: "x",
      ids: ["a", null],
      csv: [null],
      filter: { a: null, b: "c", d: { e: null } },
    });
    expect(url).toBe("/op?q=x&ids=a&filter%5Bb%5D=c");
    expect(headers).not.toHaveProperty("x-opt");
    expect(headers).not.toHaveProperty("cookie");
    expect((await call({ q: "" })).url).toBe("/op?q=");
  });

  it("in bodies, but where the document allows it or asks for it; a required one is told", async () => {
    const inner = {
      type: "object",
      required: ["c"],
      properties: { a: { type: "string" }, b: { type: ["string", "null"] }, c: { type: "string" } },
    };
    const schema = {
      type: "object",
      properties: {
        name: { type: "string" },
        born: { type: ["string", "null"] },
        inner: { $ref: "#/components/schemas/Inner" },
        list: { type: "array", items: { $ref: "#/components/schemas/Inner" } },
        free: { type: "object", additionalProperties: true },
      },
    };
    const { call, gateway } = await start(
      operation("post", body("application/json", schema), {
        components: { schemas: { Inner: inner } },
      }),
    );
    const nulls = { a: null, b: null, c: null };
    const sent = await call({ name: null, born: null, inner: nulls, list: [nulls], free: nulls });
    expect(JSON.parse(sent.body.toString())).toEqual({
      born: null,
      inner: { b: null, c: null },
      list: [{ b: null, c: null }],
      free: nulls,
    });
    const required = await start(
      operation("get", { parameters: [query("q", { type: "string" }, { required: true })] }),
    );
    expect(await callPets(required.gateway, "op", { q: null })).toMatchObject({
      isError: true,
      content: [{ text: '"q" is missing.' }],
    });
    expect(gateway.servers.size).toBe(1);
  });
});

describe("keys that clients refuse have another name, and the request has the right one (rest 5, mcp 7)", () => {
  it("of parameters, whatever else is called so", async () => {
    const names = [
      "filter[name]",
      "page[size]",
      "ids[]",
      "StartTime<",
      "StartTime>",
      "$top",
      "x y",
    ];
    const long = "l".repeat(90);
    const parameters = [...names, "StartTime", "top", long, "日"].map((name) => query(name));
    const { properties, call } = await start(operation("get", { parameters }));
    const keys = Object.keys(properties());
    for (const key of keys) expect(key).toMatch(SAFE);
    expect(keys).toEqual([
      "filter_name",
      "page_size",
      "ids",
      "query_StartTime",
      "query_StartTime_2",
      "query_top",
      "x_y",
      "StartTime",
      "top",
      "l".repeat(64),
      "value",
    ]);
    const { url } = await call(Object.fromEntries(keys.map((key, at) => [key, String(at)])));
    expect([...new URL(url, "http://x").searchParams]).toEqual([
      ...names.map((name, at) => [name, String(at)]),
      ["StartTime", "7"],
      ["top", "8"],
      [long, "9"],
      ["日", "10"],
    ]);
  });

  it("of bodies and of what is in them, but not of maps that the caller fills", async () => {
    const node: Json = {
      type: "object",
      required: ["@id"],
      properties: {
        "@id": { type: "string" },
        "next/node": { $ref: "#/components/schemas/Node" },
        labels: { type: "object", additionalProperties: { type: "string" } },
        list: { anyOf: [{ type: "array", items: { $ref: "#/components/schemas/Node" } }] },
      },
    };
    const schema = {
      type: "object",
      properties: { "root[]": { $ref: "#/components/schemas/Node" } },
    };
    const { gateway, call } = await start(
      operation("post", body("application/json", schema), {
        components: { schemas: { Node: node } },
      }),
    );
    const { inputSchema } = toolOf(gateway, "op");
    expect(inputSchema).toMatchObject({
      properties: { root: {} },
      $defs: { Node: { required: ["id"], properties: { id: {}, next_node: {} } } },
    });
    const labels = { id: "x", "next/node": "y" };
    const sent = await call({
      root: { id: "1", labels, next_node: { id: "2", list: [{ id: "3" }] } },
    });
    expect(JSON.parse(sent.body.toString())).toEqual({
      "root[]": { "@id": "1", labels, "next/node": { "@id": "2", list: [{ "@id": "3" }] } },
    });
  });
});

describe("every tool passes what strict clients check (rest 2, mcp 7)", () => {
  it("lists without items, doubled values, patterns and keywords that are none", async () => {
    const parameters = [
      query("l", { type: "array" }),
      query("m", { type: ["array", "null"] }),
      query("e", { type: "string", enum: ["a", "b", "a"] }),
      query("p", { type: "string", pattern: "^(?P<x>a)$" }),
      query("s", { type: "string", pattern: String.raw`^[\w-.]+$` }),
      query("t", { type: "file", minLength: "1", examples: { a: 1 }, required: true }),
      query("n", { type: "array", items: { type: "array", enum: [] } }),
      query("r", { type: "object", properties: { a: true }, required: ["a", "a", "z"] }),
      query("d", { type: "string", $recursiveAnchor: true, id: "x", unknown: 1 }),
    ];
    const { properties, gateway } = await start(operation("get", { parameters }));
    expect(properties()).toEqual({
      l: { type: "array", items: {} },
      m: { type: ["array", "null"], items: {} },
      e: { type: "string", enum: ["a", "b"] },
      p: { type: "string" },
      s: { type: "string" },
      t: {},
      n: { type: "array", items: { type: "array", items: {} } },
      r: { type: "object", properties: { a: true }, required: ["a"] },
      d: { type: "string" },
    });
    // As the official SDK does: patterns with the flag u, unknown formats taken.
    const ajv = new Ajv2020({
      strict: true,
      strictTypes: false,
      strictRequired: false,
      allowUnionTypes: true,
    });
    expect(() => ajv.compile(toolOf(gateway, "op").inputSchema)).not.toThrow();
  });
});

describe("what the operator sets is no argument (rest 18)", () => {
  it("in headers, cookies and the query of the base", async () => {
    const parameters = [
      { name: "token", in: "header", required: true, schema: { type: "string" } },
      { name: "ck", in: "cookie", schema: { type: "string" } },
      query("api_key", { type: "string" }, { required: true }),
      query("q"),
    ];
    const api = await startApi(operation("get", { parameters }));
    const { gateway } = await startPets({
      spec: `${api.origin}/openapi.yaml`,
      baseUrl: `${api.origin}/?api_key=k`,
      headers: { Token: "t", Cookie: "ck=c" },
    });
    expect(toolOf(gateway, "op").inputSchema).toEqual({
      type: "object",
      properties: { q: { type: "string" } },
    });
    await callPets(gateway, "op", { q: "x", token: "mine", api_key: "mine" });
    const [{ url, headers }] = api.received as [PetApi["received"][number]];
    expect(url).toBe("/op?api_key=k&q=x");
    expect(headers).toMatchObject({ token: "t", cookie: "ck=c" });
  });
});

describe("bodies are written as the document says (rest 11, 18)", () => {
  const styled = { style: "deepObject", explode: true };
  const FORM = "application/x-www-form-urlencoded";
  const stripe = {
    type: "object",
    properties: {
      metadata: { type: "object" },
      expand: { type: "array", items: { type: "string" } },
      items: { type: "array", items: { type: "object" } },
    },
  };

  it("a form with styles: Stripe's nested arguments", async () => {
    const encoding = { metadata: styled, expand: styled, items: styled };
    const { call } = await start(operation("post", body(FORM, stripe, { encoding })));
    const sent = async (args: Json) => decodeURIComponent((await call(args)).body.toString());
    expect(await sent({ metadata: { k: "v", n: null }, expand: ["x"] })).toBe(
      "metadata[k]=v&expand[0]=x",
    );
    expect(await sent({ items: [{ price: "p", quantity: 2 }, { price: "q" }] })).toBe(
      "items[0][price]=p&items[0][quantity]=2&items[1][price]=q",
    );
    expect(await sent({ metadata: null, expand: [] })).toBe("");
  });

  it("a form with other encodings: lists in one value, JSON, and none", async () => {
    const encoding = {
      expand: { style: "form", explode: false },
      items: { contentType: "application/json" },
    };
    const { call } = await start(operation("post", body(FORM, stripe, { encoding })));
    const { body: bytes } = await call({
      expand: ["a b", "c&d"],
      items: [{ a: 1 }],
      metadata: { k: 1 },
    });
    expect(bytes.toString()).toBe(
      `metadata=${encodeURIComponent('{"k":1}')}&expand=a%20b,c%26d&items=${encodeURIComponent('[{"a":1}]')}`
        .split("&")
        .toSorted((a, b) => (a.startsWith("expand") ? -1 : b.startsWith("expand") ? 1 : 0))
        .toSorted((a, b) => (a.startsWith("metadata") ? 1 : b.startsWith("metadata") ? -1 : 0))
        .join("&"),
    );
  });

  it("uploads have a name and a type, of their own or of the document", async () => {
    const file = { type: "string", format: "binary" };
    const schema = {
      type: "object",
      properties: {
        file,
        images: { type: "array", items: file },
        ref: { $ref: "#/components/schemas/File" },
        meta: { type: "object" },
        tags: { type: "array", items: { type: "string" } },
      },
    };
    const encoding = { ref: { contentType: "image/png, image/jpeg" }, tags: styled };
    const { call, properties, gateway } = await start(
      operation("post", body("multipart/form-data", schema, { encoding }), {
        components: { schemas: { File: file } },
      }),
    );
    expect(properties()["file"]).toMatchObject({ anyOf: [{ type: "string" }, { type: "object" }] });
    const data = Buffer.from("hello").toString("base64");
    const form = await formOf(
      await call({
        file: { data, filename: 'a"b.mp3', contentType: "audio/mpeg" },
        images: [data, { data, filename: "2.png" }],
        ref: data,
        meta: { a: 1 },
        tags: ["x", "y"],
      }),
    );
    const about = (name: string) =>
      (form.getAll(name) as File[]).map((each) => `${each.name} ${each.type}`);
    expect(about("file")).toEqual(['a"b.mp3 audio/mpeg']);
    expect(about("images")).toEqual([
      "images application/octet-stream",
      "2.png application/octet-stream",
    ]);
    expect(about("ref")).toEqual(["ref image/png"]);
    expect(await (form.get("file") as File).text()).toBe("hello");
    expect(form.getAll("tags[0]")).toEqual(["x"]);
    for (const contentType of ["a/b\r\nx: y", "audio"])
      expect(await callPets(gateway, "op", { file: { data, contentType } })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining("not a media type") as string }],
      });
  });

  it("a multipart body that is a list of parts: Jira's attachments", async () => {
    const schema = { type: "array", items: { type: "object", properties: { bytes: {} } } };
    const { call } = await start(operation("post", body("multipart/form-data", schema)));
    const data = Buffer.from("x").toString("base64");
    const form = await formOf(
      await call({
        body: [
          { data, filename: "a.txt" },
          { name: "b", data },
        ],
      }),
    );
    expect([...form.keys()]).toEqual(["file", "b"]);
    expect((form.get("file") as File).name).toBe("a.txt");
  });

  it("a body of a type that says nothing of it is text or bytes by its schema", async () => {
    const text = await start(operation("post", body("application/jwt", { type: "string" })));
    expect((await text.call({ body: "a.b.c" })).body.toString()).toBe("a.b.c");
    const map = await start(operation("post", body("application/x-own", { type: "object" })));
    expect((await map.call({ body: { a: 1 } })).body.toString()).toBe('{"a":1}');
    const bytes = { type: "string", format: "binary" };
    const file = await start(operation("post", body("application/x-own", bytes)));
    const data = Buffer.from("x").toString("base64");
    expect((await file.call({ body: data })).body.toString()).toBe("x");
    const pixel = await start(operation("post", body("image/png", { type: "string" })));
    const sent = await pixel.call({ body: { data, contentType: "image/webp" } });
    expect([sent.body.toString(), sent.headers["content-type"]]).toEqual(["x", "image/webp"]);
  });

  it("a place in the path that the document forgot to describe is an argument", async () => {
    const get = { operationId: "op", responses: {}, parameters: [query("q")] };
    const { call } = await start(documentOf({ "/a/{id}/{id}/{b}": { get } }));
    expect((await call({ id: "1", b: "2/3", q: "x" })).url).toBe("/a/1/1/2%2F3?q=x");
  });

  it("a patch is merged, not a list of steps, unless the caller chooses: Kubernetes", async () => {
    const schema = { type: "object" };
    const types = ["json-patch+json", "strategic-merge-patch+json", "merge-patch+json"];
    const content = Object.fromEntries(types.map((type) => [`application/${type}`, { schema }]));
    const { call, properties, gateway } = await start(
      operation("patch", { requestBody: { content } }),
    );
    expect(properties()["content_type"]).toMatchObject({ enum: { length: 3 } });
    expect((await call({ body: { a: null } })).headers["content-type"]).toBe(
      "application/merge-patch+json",
    );
    const steps = [{ op: "remove", path: "/a" }];
    const sent = await call({ body: steps, content_type: "application/json-patch+json" });
    expect(sent.headers["content-type"]).toBe("application/json-patch+json");
    expect(JSON.parse(sent.body.toString())).toEqual(steps);
    expect(await callPets(gateway, "op", { body: {}, content_type: "text/html" })).toMatchObject({
      isError: true,
    });
  });
});
