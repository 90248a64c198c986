import { Filters, Lists } from "propylon/kit";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Validator } from "@seriousme/openapi-schema-validator";
import { generate } from "openapi-typescript-codegen";
import { describe, expect, it, onTestFinished } from "vitest";
import { definePlugin, type Json } from "propylon";
import { inlineSchema } from "../../../plugins/openapi/document/schema.ts";
import { createSlow, EVERYTHING, get, post, startOpenapi, startReal } from "./support.ts";

const run = promisify(execFile);

async function problemsOf(document: Record<string, unknown>): Promise<unknown> {
  const { valid, errors } = await new Validator().validate(document);
  return valid ? [] : errors;
}

interface LintReport {
  readonly problems: readonly {
    readonly message: string;
    readonly location: readonly { readonly pointer: string }[];
  }[];
}

/** What `redocly lint` finds wrong by its recommended rules. Tools have no licence, and where a schema refers to itself it says "anything". */
async function lint(documents: readonly { name: string; body: unknown }[]): Promise<unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), "openapi-lint-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, "redocly.yaml");
  await writeFile(
    config,
    "extends: [recommended]\nrules: { info-license: off, no-illogical-composition-keywords: off }\n",
  );
  const files = documents.map(({ name }) => join(folder, `${name}.json`));
  await Promise.all(documents.map(({ body }, n) => writeFile(files[n]!, JSON.stringify(body))));
  const environment = { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" };
  const { stdout } = await run(
    process.execPath,
    [
      "node_modules/@redocly/cli/bin/cli.js",
      "lint",
      "--config",
      config,
      "--format",
      "json",
      ...files,
    ],
    { env: { ...process.env, ...environment }, maxBuffer: 64 * 1024 * 1024 },
  ).catch((error: { stdout: string }) => error);
  // One JSON text for each file, indented.
  const reports = stdout.split(/(?<=^\})\s*(?=\{)/m).map((text) => JSON.parse(text) as LintReport);
  expect(reports).toHaveLength(files.length);
  return reports.flatMap(({ problems }) =>
    problems.map(({ message, location }) => `${location[0]?.pointer} ${message}`),
  );
}

describe("OpenAPI documents", () => {
  it("are valid for eight servers and all of them together, to two validators", async () => {
    const { url, names } = await startReal();
    const documents = await Promise.all(
      ["", ...names].map(async (name) => {
        const { status, body } = await get(`${url}${name && `/${name}`}/openapi.json`);
        expect(status).toBe(200);
        expect(body.openapi).toBe("3.1.0");
        expect({ name, tools: Object.keys(body.paths).length > 0 }).toEqual({ name, tools: true });
        expect({ name, problems: await problemsOf(body) }).toEqual({ name, problems: [] });
        return { name: name || "all", body };
      }),
    );
    const { body } = documents[0]!;
    expect(body.tags.map((tag: { name: string }) => tag.name)).toEqual(names);
    const ids = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((path) => Object.values(path))
      .map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await lint(documents)).toEqual([]);
  });

  it("M106: are the same bytes until something they show changes, and 304 to whoever has them", async () => {
    const tools = createTools();
    const { gateway, url } = await startOpenapi({}, [tools.plugin]);
    for (const path of ["/openapi.json", "/tools/openapi.json"]) {
      const first = await get(`${url}${path}`);
      const etag = first.headers.get("etag")!;
      const known = await fetch(`${url}${path}`, {
        headers: { "if-none-match": `"x", W/${etag}` },
      });
      expect(known.status).toBe(304);
      expect(await known.text()).toBe("");
      const { listeners, plugins } = gateway.config;
      await gateway.apply({ listeners, plugins: { ...plugins, openapi: {} } });
      expect((await get(`${url}${path}`)).headers.get("etag")).toBe(etag);
      await tools.hide(true);
      const changed = await get(`${url}${path}`);
      expect(changed.headers.get("etag")).not.toBe(etag);
      expect(JSON.stringify(changed.body.paths)).not.toContain("get_secret");
      await tools.hide(false);
      expect((await get(`${url}${path}`)).headers.get("etag")).toBe(etag);
    }
  });

  it("tell of the gateway's own parameters, events and jobs only where that is wanted", async () => {
    const { url } = await startOpenapi({ document: "full" }, [createSlow().plugin]);
    const { body } = await get(`${url}/openapi.json`);
    expect(await problemsOf(body)).toEqual([]);
    expect(Object.keys(body.paths)).toContain("/_jobs/{id}");
    const { parameters, responses } = body.paths["/slow/wait"].post;
    expect(parameters.map(({ name }: { name: string }) => name)).toEqual([
      "X-Tool-Timeout",
      "timeout",
      "Prefer",
      "X-Result-Format",
    ]);
    expect(Object.keys(responses["200"].content)).toContain("text/event-stream");
    expect(responses).toHaveProperty("202");
  });

  it("M107: one operation stands for a server with many tools, and every tool answers through it", async () => {
    const { url } = await startOpenapi({ invokeAbove: 2 }, [createSlow().plugin]);
    const { body } = await get(`${url}/slow/openapi.json`);
    expect(Object.keys(body.paths)).toEqual(["/invoke"]);
    const schema = body.paths["/invoke"].post.requestBody.content["application/json"].schema;
    expect(schema.properties.tool.enum).toEqual(["wait", "fail", "strict"]);
    expect(await problemsOf(body)).toEqual([]);
    const invoked = await post(`${url}/slow/invoke`, { tool: "strict", arguments: { amount: 4 } });
    expect(invoked.body).toMatchObject({ ok: true, result: 8 });
    expect((await post(`${url}/slow/strict`, { amount: 4 })).body).toEqual(invoked.body);
    expect((await post(`${url}/slow/invoke`, { arguments: {} })).status).toBe(422);
    expect((await post(`${url}/slow/invoke`, { tool: "none" })).status).toBe(404);
  });

  it("M107: a tool that is named invoke is not hidden by the route", async () => {
    const tools = createTools(["invoke", "other"]);
    const { url } = await startOpenapi({ invokeAbove: 1 }, [tools.plugin]);
    const { body } = await get(`${url}/tools/openapi.json`);
    expect(Object.keys(body.paths)).toEqual(["/invoke", "/other"]);
    expect((await post(`${url}/tools/invoke`, {})).body).toMatchObject({ result: "invoke" });
  });

  it("percent-encodes odd names, which then work, and keeps operationIds apart", async () => {
    const names = ["a/b", "a b", "a_b", "ü?#", "{x}", "100%"];
    const { url } = await startOpenapi({}, [createTools(names).plugin]);
    const { body } = await get(`${url}/tools/openapi.json`);
    expect(await problemsOf(body)).toEqual([]);
    const operations = Object.values(body.paths) as { post: { operationId: string } }[];
    expect(new Set(operations.map((path) => path.post.operationId)).size).toBe(names.length);
    const results = Object.keys(body.paths).map((path) => post(`${url}/tools${path}`));
    expect((await Promise.all(results)).map((reply) => reply.body.result)).toEqual(names);
  });

  it("names the public URL, and the key where one is needed", async () => {
    const config = { publicUrl: "https://tools.example/base/", auth: { apiKey: "k".repeat(20) } };
    const { url } = await startOpenapi({}, [createSlow().plugin], config);
    const key = { authorization: `Bearer ${config.auth.apiKey}` };
    expect((await get(`${url}/openapi.json`)).status).toBe(401);
    const all = (await get(`${url}/openapi.json`, key)).body;
    const one = (await get(`${url}/slow/openapi.json`, key)).body;
    expect(all.servers).toEqual([{ url: "https://tools.example/base" }]);
    expect(one.servers).toEqual([{ url: "https://tools.example/base/slow" }]);
    for (const body of [all, one]) {
      expect(await problemsOf(body)).toEqual([]);
      expect(body.security).toEqual([{ key: [] }]);
      expect(body.components.securitySchemes.key).toEqual({ type: "http", scheme: "bearer" });
    }
  });

  it("let a generated client call a tool", async () => {
    const { url } = await startOpenapi({}, [], { servers: { everything: EVERYTHING } });
    const folder = await mkdtemp(join(process.cwd(), "node_modules/.openapi-client-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const input = (await get(`${url}/everything/openapi.json`)).body;
    await generate({ input, output: folder, httpClient: "fetch", useOptions: true });
    const client = await import(join(folder, "index.ts"));
    client.OpenAPI.BASE = `${url}/everything`;
    const answer = await client.EverythingService.getSum({ requestBody: { a: 2, b: 3 } });
    expect(answer).toMatchObject({ ok: true, output: { items: [{ type: "text" }] } });
    expect(answer.result).toContain("5");
    await expect(
      client.EverythingService.getSum({ requestBody: { a: "two", b: 3 } }),
    ).rejects.toMatchObject({ status: 422, body: { ok: false, error: { code: "invalid" } } });
  });
});

/** A plugin whose tools answer with their own name, and can be hidden but for the first. */
function createTools(names: readonly string[] = ["shown", "get_secret"]) {
  let isHidden = false;
  let relist = (): void => {};
  const plugin = definePlugin({
    name: "tools",
    inject: { lists: Lists },
    setup(gateway) {
      for (const name of names)
        gateway.tool(name, { description: `Says ${name}.`, run: () => name });
      gateway.add(Filters, { shows: ({ name }) => !isHidden || name === names[0] });
      relist = () => gateway.services.lists.changed();
    },
  });
  const hide = async (hidden: boolean): Promise<void> => {
    isHidden = hidden;
    relist();
  };
  return { plugin, hide };
}

describe("a tool's schema in a document", () => {
  it.each<[string, Json, Json]>([
    ["no reference", { type: "object", $schema: "x", $id: "y" }, { type: "object" }],
    [
      "definitions of both kinds",
      {
        $defs: { A: { type: "string" } },
        definitions: { "B c": true },
        properties: { a: { $ref: "#/$defs/A" }, b: { $ref: "#/definitions/B%20c" } },
      },
      { properties: { a: { type: "string" }, b: {} } },
    ],
    [
      "a description beside a reference",
      {
        $defs: { A: { type: "string", description: "Any." } },
        properties: { a: { $ref: "#/$defs/A", description: "This one." } },
      },
      { properties: { a: { type: "string", description: "This one." } } },
    ],
    [
      "recursion",
      { type: "object", properties: { child: { $ref: "#" } } },
      { type: "object", properties: { child: {} } },
    ],
    [
      "mutual recursion",
      {
        $defs: { A: { items: { $ref: "#/$defs/B" } }, B: { items: { $ref: "#/$defs/A" } } },
        $ref: "#/$defs/A",
      },
      { items: { items: {} } },
    ],
    [
      "a circle of nothing but references",
      {
        $defs: { A: { $ref: "#/$defs/B" }, B: { $ref: "#/$defs/A" } },
        properties: { a: { $ref: "#/$defs/A" } },
      },
      { properties: { a: {} } },
    ],
    ["a reference to itself", { $ref: "#" }, {}],
    [
      "a place that does not exist",
      { properties: { a: { $ref: "#/$defs/None" } } },
      { properties: { a: {} } },
    ],
    [
      "another document",
      {
        properties: { a: { $ref: "https://x.example/y.json" }, b: { $ref: "file:///etc/x.json" } },
      },
      { properties: { a: {}, b: {} } },
    ],
    [
      "a place that is no definition",
      { properties: { a: { type: "number" }, b: { $ref: "#/properties/a" } } },
      { properties: { a: { type: "number" }, b: { type: "number" } } },
    ],
    [
      "a circle of such places",
      { properties: { a: { properties: { b: { $ref: "#/properties/a" } } } } },
      { properties: { a: { properties: { b: {} } } } },
    ],
    [
      "draft 4 and 7",
      {
        properties: {
          n: { minimum: 1, exclusiveMinimum: true },
          list: { items: [{ type: "string" }], additionalItems: false },
        },
        dependencies: { a: ["b"], c: { type: "object" } },
      },
      {
        properties: {
          n: { exclusiveMinimum: 1 },
          list: { prefixItems: [{ type: "string" }], items: { not: {} } },
        },
        dependentRequired: { a: ["b"] },
        dependentSchemas: { c: { type: "object" } },
      },
    ],
    [
      "booleans for schemas",
      {
        properties: { a: true, b: false },
        items: true,
        anyOf: [true, false],
        additionalProperties: false,
        unevaluatedProperties: true,
      },
      {
        properties: { a: {}, b: { not: {} } },
        items: {},
        anyOf: [{}, { not: {} }],
        additionalProperties: false,
        unevaluatedProperties: true,
      },
    ],
    [
      "values of the wrong kind",
      { type: "any", required: "a", properties: [], minimum: "1", enum: [], title: 1, oneOf: {} },
      { properties: {} },
    ],
    [
      "data that looks like a reference",
      { const: { $ref: "#" }, enum: [{ $id: "x" }] },
      { const: { $ref: "#" }, enum: [{ $id: "x" }] },
    ],
  ])("M157: %s", (_name, schema, inlined) => {
    expect(inlineSchema(schema)).toEqual(inlined);
  });

  it("M157: an object that holds itself becomes anything there", () => {
    const schema: Json = { type: "object", properties: {} };
    (schema["properties"] as Json)["self"] = schema;
    expect(inlineSchema(schema)).toEqual({ type: "object", properties: { self: {} } });
  });

  it("is cut where it nests without end", () => {
    let schema: Json = { type: "string" };
    for (let level = 0; level < 5_000; level++) schema = { type: "array", items: schema };
    expect(JSON.stringify(inlineSchema(schema)).length).toBeLessThan(5_000);
  });

  it("is cut where references double it at each level, or repeat a long text", () => {
    const levels = Array.from({ length: 35 }, (_, n) => {
      const next = { $ref: `#/$defs/l${n + 1}` };
      return [`l${n}`, { properties: { a: next, b: next } }] as const;
    });
    const doubling = { $defs: Object.fromEntries(levels), $ref: "#/$defs/l0" };
    expect(JSON.stringify(inlineSchema(doubling)).length).toBeLessThan(1_000_000);
    const long = { description: "x".repeat(100_000) };
    const properties = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, n) => [`p${n}`, { $ref: "#/$defs/long" }]),
    );
    const repeated = inlineSchema({ $defs: { long }, properties });
    expect(JSON.stringify(repeated).length).toBeLessThan(1_000_000);
  });
});

describe("the page", () => {
  it("carries everything it needs, lets nothing else in, and is the same for everyone", async () => {
    const config = { auth: { apiKey: "k".repeat(20) } };
    const { url } = await startOpenapi({}, [createSlow().plugin], config);
    const pages = ["/docs", "/slow/docs", "/none/docs"].map(async (path) => {
      const response = await fetch(`${url}${path}`);
      expect(response.status).toBe(200);
      const policy = response.headers.get("content-security-policy")!;
      const html = await response.text();
      for (const [tag, directive] of [
        ["script", "script-src"],
        ["style", "style-src"],
      ] as const) {
        const text = new RegExp(`<${tag}>([\\s\\S]*)</${tag}>`).exec(html)![1]!;
        const digest = createHash("sha256").update(text).digest("base64");
        expect(policy).toContain(`${directive} 'sha256-${digest}'`);
      }
      expect(policy).toContain("default-src 'none'");
      expect(html).not.toMatch(/https?:\/\//);
      return html;
    });
    expect(new Set(await Promise.all(pages)).size).toBe(1);
  });

  it("is left out where it is not wanted", async () => {
    const { url } = await startOpenapi({ docs: false });
    expect((await fetch(`${url}/docs`)).status).toBe(404);
  });
});
