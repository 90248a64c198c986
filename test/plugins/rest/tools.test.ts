import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../core/index.ts";
import { makeFolder } from "../../kit/folder.ts";
import { PETS, startApi } from "./api.ts";
import { settled, startPets, toolOf } from "./kit.ts";

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** An OpenAPI 3.1 document with one path. */
function document31(paths: Json, more: Json = {}): string {
  return JSON.stringify({ openapi: "3.1.0", info: { title: "t", version: "1" }, paths, ...more });
}

describe("operations become tools", () => {
  it("names, describes and annotates them", async () => {
    const api = await startApi();
    const { gateway, client } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "list_pets",
      "addPet",
      "getPet",
      "replacePet",
      "deletePet",
      "addPhoto",
      "styles",
      "form",
      "note",
      "answer",
      "head_unnamed_x",
    ]);
    expect(toolOf(gateway, "list_pets")).toMatchObject({
      title: "Lists pets",
      annotations: { readOnlyHint: true },
    });
    expect(toolOf(gateway, "deletePet")).toMatchObject({
      description: "Deprecated. DELETE /pets/{id}",
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    });
    expect(toolOf(gateway, "replacePet").annotations).toMatchObject({ idempotentHint: true });
    expect(gateway.servers.get("pets")!.catalogue.serverInfo).toEqual({
      name: "Pets",
      version: "1.2.0",
    });
    expect(gateway.servers.get("pets")!.status).toMatchObject({
      state: "ready",
      transport: "openapi",
    });
  });

  it("writes schemas of 3.0 as JSON Schema 2020-12, circular ones in $defs", async () => {
    const api = await startApi();
    const spec = `${api.origin}/openapi.yaml`;
    const { gateway } = await startPets({ spec, outputSchemas: "strict" });
    const add = toolOf(gateway, "addPet");
    expect(add.inputSchema).toMatchObject({
      type: "object",
      required: ["name"],
      properties: {
        name: { type: "string", examples: ["Rex"] },
        born: { type: ["string", "null"] },
        parents: { type: "array", items: { $ref: "#/$defs/Pet" } },
      },
      $defs: { Pet: { properties: { parents: { items: { $ref: "#/$defs/Pet" } } } } },
    });
    expect(add.inputSchema["properties"]).not.toHaveProperty("id");
    expect(add.inputSchema["properties"]).toHaveProperty("secret");
    expect(add.outputSchema!["properties"]).not.toHaveProperty("secret");
    expect(add.outputSchema!["required"]).toEqual(["name", "id"]);
    const limit = (toolOf(gateway, "list_pets").inputSchema["properties"] as Json)["limit"];
    expect(limit).toEqual({ type: ["integer", "null"], exclusiveMinimum: 0 });
    const validator = new Validator(add.inputSchema, "2020-12");
    expect(validator.validate({ name: "x", parents: [{ name: "y", born: null }] }).valid).toBe(
      true,
    );
    expect(validator.validate({ name: "x", parents: [{ born: 1 }] }).valid).toBe(false);
  });

  it("shows a collision of names instead of hiding it", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    expect(Object.keys(toolOf(gateway, "replacePet").inputSchema["properties"] as Json)).toEqual([
      "id",
      "body",
    ]);
    api.document = document31({
      "/a/{id}": {
        get: {
          parameters: [
            { name: "id", in: "path", required: true, schema: { type: "string" } },
            { name: "id", in: "query", schema: { type: "string" } },
          ],
          responses: {},
        },
        post: { operationId: "get_a_id", responses: {} },
      },
      "/long": {
        get: { operationId: "x".repeat(80), responses: {} },
        put: { operationId: "x".repeat(90), responses: {} },
      },
    });
    await gateway.servers.get("pets")!.reconnect!();
    const { tools } = gateway.servers.get("pets")!.catalogue;
    expect(tools.map(({ name }) => name)).toEqual([
      "get_a_id",
      "get_a_id_2",
      "x".repeat(64),
      `${"x".repeat(62)}_2`,
    ]);
    expect(Object.keys(tools[0]!.inputSchema["properties"] as Json)).toEqual(["id", "query_id"]);
    for (const { name } of tools) expect(name).toMatch(NAME);
  });

  it("T23: a long name or address of a document is not looked through once per character", async () => {
    const operationId = `${"_".repeat(300_000)}!a`;
    const api = await startApi(document31({ "/a": { get: { operationId, responses: {} } } }));
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    expect(gateway.servers.get("pets")!.catalogue.tools.map(({ name }) => name)).toEqual([
      "operation",
    ]);
    const slashes = { servers: [{ url: `/${"/a".repeat(2_000)}` }] };
    const far = await startApi(document31({ "/a": { get: { responses: {} } } }, slashes));
    const { gateway: second } = await startPets({ spec: `${far.origin}/openapi.yaml` });
    expect(second.servers.get("pets")!.status.reason).toMatch(/is not a URL/);
  });

  it("reads 3.1 with its own keywords", async () => {
    const api = await startApi(
      document31(
        {
          "/x": {
            post: {
              operationId: "x",
              requestBody: {
                required: true,
                content: { "application/json": { schema: { $ref: "#/components/schemas/X" } } },
              },
              responses: {},
            },
          },
        },
        {
          components: {
            schemas: {
              X: {
                type: "object",
                properties: { v: { type: ["string", "null"], const: null } },
                $defs: {},
              },
            },
          },
        },
      ),
    );
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    expect(toolOf(gateway, "x").inputSchema["properties"]).toEqual({
      v: { type: ["string", "null"], const: null },
    });
  });

  it("reads what a document refers to in its own folder, and refuses what is outside", async () => {
    const baseUrl = "http://127.0.0.1:1";
    const { gateway } = await startPets({ spec: "test/fixtures/api/split.yaml", baseUrl });
    expect(toolOf(gateway, "putThing").inputSchema).toMatchObject({
      required: ["id"],
      properties: { id: {}, name: {}, next: { $ref: "#/$defs/thing" } },
    });
    const second = await startPets({ spec: "test/fixtures/api/parts/climbing.yaml", baseUrl });
    expect(second.gateway.servers.get("pets")!.status.reason).toMatch(/outside its folder/);
  });

  it("offers the operations that were chosen", async () => {
    const api = await startApi();
    const { gateway } = await startPets({
      spec: `${api.origin}/openapi.yaml`,
      operations: {
        include: ["tag:pets", "*Pet", "GET /answer/*"],
        exclude: ["tag:write", "PUT *"],
      },
    });
    expect(gateway.servers.get("pets")!.catalogue.tools.map(({ name }) => name)).toEqual([
      "list_pets",
      "getPet",
      "answer",
    ]);
  });
});

describe("a document that cannot be used", () => {
  const CASES: [string, string, RegExp][] = [
    ["Swagger 2", '{"swagger":"2.0","paths":{}}', /Swagger 2\.0; OpenAPI 3\.0 or 3\.1 is needed/],
    ["no OpenAPI", '{"hello":1}', /does not say which version/],
    ["a future version", '{"openapi":"4.0.0"}', /"4\.0\.0" is not known/],
    ["no JSON", "{ nonsense", /neither JSON nor YAML/],
    ["a list", "[1]", /not a map/],
    [
      "a reference to nowhere",
      document31({ "/a": { get: { parameters: [{ $ref: "#/components/x" }], responses: {} } } }),
      /#\/components\/x" leads nowhere/,
    ],
    [
      "a reference to itself",
      document31(
        { "/a": { $ref: "#/components/a" } },
        { components: { a: { $ref: "#/components/a" } } },
      ),
      /leads to itself/,
    ],
    [
      "a reference to another host",
      document31({ "/a": { $ref: "http://127.0.0.2/x.json#/a" } }),
      /different host/,
    ],
    [
      "an API on another host",
      document31({}, { servers: [{ url: "http://127.0.0.2:1/internal" }] }),
      /says that the API is on 127\.0\.0\.2:1.*Set baseUrl/,
    ],
  ];

  it.each(CASES)(
    "%s: the server has failed and says why, the gateway serves",
    async (_, text, words) => {
      const api = await startApi(text);
      const { gateway, client } = await startPets({ spec: `${api.origin}/openapi.yaml` });
      const { status } = gateway.servers.get("pets")!;
      expect(status.state).toBe("failed");
      expect(status.reason).toMatch(words);
      expect((await client.listTools()).tools).toEqual([]);
      await expect(gateway.call({ server: "pets", name: "x" })).rejects.toMatchObject({
        code: "upstream_error",
      });
    },
  );

  it("S1-1: of 20,000 properties those are told that fit, what is required first", async () => {
    const names = Array.from({ length: 20_000 }, (_, at) => `k${at}`);
    const schema = {
      type: "object",
      properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
      required: ["k19999"],
    };
    const requestBody = { required: true, content: { "application/json": { schema } } };
    const api = await startApi(
      document31({ "/a": { post: { operationId: "a", requestBody, responses: {} } } }),
    );
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const { inputSchema } = toolOf(gateway, "a");
    expect(JSON.stringify(inputSchema).length).toBeLessThanOrEqual(64 * 1_024);
    expect(inputSchema["required"]).toEqual(["k19999"]);
    expect(Object.keys(inputSchema["properties"] as object).slice(0, 2)).toEqual(["k19999", "k0"]);
  });

  it("the path of a file stays here, whatever in it looks like a reference", async () => {
    const folder = makeFolder();
    const spec = join(folder, "api.json");
    const data = { $ref: "#/components/schemas/Gone", list: [{ $ref: "other.json#/a" }] };
    const schema = {
      type: "object",
      default: data,
      enum: [data],
      definitions: { A: { $ref: "#/b" } },
    };
    const parameters = [{ name: "q", in: "query", schema: { ...schema, definitions: { A: {} } } }];
    await writeFile(
      spec,
      document31({ "/a": { get: { operationId: "a", parameters, responses: {} } } }),
    );
    await writeFile(join(folder, "other.json"), "{}");
    const { gateway } = await startPets({ spec, baseUrl: "http://127.0.0.1:1" });
    expect(toolOf(gateway, "a").inputSchema["properties"]).toMatchObject({
      q: { default: { $ref: "#/components/schemas/Gone", list: [{ $ref: "#/a" }] } },
    });
    // A schema that leads nowhere: the server says so, without the path.
    const dangling = { ...schema, properties: { x: { $ref: "other.json#/none" } } };
    const broken = [{ name: "q", in: "query", schema: dangling }];
    await writeFile(spec, document31({ "/a": { get: { parameters: broken, responses: {} } } }));
    const second = await startPets({ spec, baseUrl: "http://127.0.0.1:1" });
    const { status } = second.gateway.servers.get("pets")!;
    expect(status.reason).toMatch(/leads nowhere/);
    const shown = JSON.stringify([status, gateway.servers.get("pets")!.catalogue]);
    expect(shown).not.toContain("file:");
    expect(shown).not.toContain(folder);
  });

  it("a file needs baseUrl, and reads from beside the config", async () => {
    const api = await startApi();
    const spec = "test/fixtures/api/pets.yaml";
    const { gateway } = await startPets({ spec });
    expect(gateway.servers.get("pets")!.status.reason).toMatch(/is a file.*Set baseUrl/);
    const second = await startPets({ spec, baseUrl: `${api.origin}/v2` });
    expect(second.gateway.servers.get("pets")!.status.state).toBe("ready");
    await second.client.callTool({ name: "getPet", arguments: { id: "1" } });
    expect(api.received[0]!.url).toBe("/v2/pets/1");
    const missing = await startPets({ spec: "nowhere.yaml", baseUrl: api.origin });
    expect(missing.gateway.servers.get("pets")!.status.reason).toMatch(
      /nowhere\.yaml does not exist/,
    );
  });

  it("a host that is down is asked again, and heard when it is back", async () => {
    const api = await startApi();
    api.document = undefined;
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const server = gateway.servers.get("pets")!;
    expect(server.status).toMatchObject({ state: "backoff", attempts: 1 });
    expect(server.status.reason).toMatch(/HTTP 500/);
    expect(server.status.nextRetryAt).toBeDefined();
    api.document = PETS;
    await server.reconnect!();
    await settled(gateway);
    expect(server.status.state).toBe("ready");
  });
});
