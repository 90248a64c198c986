import { describe, expect, it } from "vitest";
import type { Json } from "../../../core/index.ts";
import { startApi } from "./api.ts";
import { callPets, startPets, toolOf } from "./kit.ts";

/** An API of one document, and what arrived at it last. */
async function start(paths: Json) {
  const document = { openapi: "3.0.3", info: { title: "t", version: "1" }, paths };
  const api = await startApi(JSON.stringify(document));
  const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
  expect(gateway.servers.get("pets")!.status).toMatchObject({ state: "ready" });
  const call = async (name: string, args: Json = {}) => {
    expect(await callPets(gateway, name, args)).not.toHaveProperty("isError");
    return api.received.at(-1)!;
  };
  return { gateway, call };
}

const get = (operationId: string, parameters: Json[] = []): Json => ({
  get: { operationId, parameters, responses: {} },
});
const query = (name: string): Json => ({ name, in: "query", schema: { type: "string" } });

describe("paths of real documents (issue 39, acceptance 4)", () => {
  it("a fragment tells operations apart and is not sent: AWS", async () => {
    const { call } = await start({
      "/#Action=List": get("list", [query("max")]),
      "/#Action=Get": get("get"),
      "/a/{id}#from&to": get("events", [query("from")]),
      "/send/#env/{id}": get("send"),
    });
    expect((await call("list", { max: "1" })).url).toBe("/?max=1");
    expect((await call("get")).url).toBe("/");
    expect((await call("send", { id: "1" })).url).toBe("/send/%23env/1");
    expect((await call("events", { id: "x#y", from: "2" })).url).toBe("/a/x%23y?from=2");
  });

  it("a query in the path is sent before that of the arguments", async () => {
    const { call } = await start({
      "/find?kind=a": get("find", [query("q")]),
      "/open?key={key}#x": get("open"),
    });
    expect((await call("find", { q: "b" })).url).toBe("/find?kind=a&q=b");
    expect((await call("find")).url).toBe("/find?kind=a");
    expect((await call("open", { key: "a&b=c" })).url).toBe("/open?key=a%26b%3Dc");
  });

  it("what an address cannot have is percent-encoded: apisetu", async () => {
    const { call } = await start({
      "/Your Pull/über/{a b}": get("pull"),
      "/{open/}/\u{d800}\r\nx: y": get("odd"),
      "/done%20it/(x)": get("done"),
    });
    expect((await call("pull", { a_b: "1" })).url).toBe("/Your%20Pull/%C3%BCber/1");
    expect((await call("odd", { open: "1/2" })).url).toBe("/1%2F2/%EF%BF%BD%0D%0Ax:%20y");
    expect((await call("done")).url).toBe("/done%20it/(x)");
  });

  it("a value that cannot stand in a path is not offered: brex", async () => {
    const type = {
      name: "type",
      in: "path",
      required: true,
      schema: { enum: ["", ".", "B", ".."] },
    };
    const kept = { name: "kept", in: "query", schema: { enum: ["", "B"] } };
    const { gateway } = await start({ "/{type}": get("order", [type, kept]) });
    expect(toolOf(gateway, "order").inputSchema["properties"]).toEqual({
      type: { enum: ["B"] },
      kept: { enum: ["", "B"] },
    });
  });
});

describe("names of real documents (issue 39, acceptance 4)", () => {
  it("have no dots, which neither Claude nor OpenAI takes: Google", async () => {
    const { gateway, call } = await start({
      "/a": get("youtube.videos.list"),
      "/b": get("youtube_videos.list"),
      "/c.json": { get: { responses: {} } },
      "/d": get("..."),
    });
    const names = gateway.servers.get("pets")!.catalogue.tools.map(({ name }) => name);
    expect(names).toEqual([
      "youtube_videos_list",
      "youtube_videos_list_2",
      "get_c_json",
      "operation",
    ]);
    expect((await call("youtube_videos_list_2")).url).toBe("/b");
  });
});

describe("schemas of real documents (issue 39, acceptance 4)", () => {
  it("require what they take from other ones, but not what an API sets itself: Azure", async () => {
    const base = {
      properties: { location: { type: "string" }, id: { type: "string", readOnly: true } },
    };
    const schema = {
      type: "object",
      required: ["location", "id", "sku", "nowhere"],
      properties: { sku: { type: "string" } },
      allOf: [{ allOf: [base] }],
    };
    const content = { "application/json": { schema } };
    const { gateway } = await start({
      "/a": { put: { operationId: "put", requestBody: { content }, responses: {} } },
    });
    expect(toolOf(gateway, "put").inputSchema).toMatchObject({
      properties: { body: { required: ["location", "sku"] } },
    });
  });

  it("tell of answers what there is room for: sentences, and less of what is deep: Stripe", async () => {
    const description = `${"One sentence. ".repeat(20)}End`;
    const long = "x".repeat(200);
    const inner = { type: "object", properties: { deep: { description } } };
    const properties = { near: { description, ...inner }, long: { description: long } };
    const content = { "application/json": { schema: { type: "object", properties } } };
    const responses = { 200: { content } };
    const { gateway } = await start({ "/a": { get: { operationId: "get", responses } } });
    const told = toolOf(gateway, "get").outputSchema!["properties"] as Record<string, Json>;
    expect(told["near"]!["description"]).toBe("One sentence. ".repeat(10).trimEnd());
    expect(told["near"]!["properties"]).toEqual({
      deep: { description: "One sentence. ".repeat(5).trimEnd() },
    });
    expect(told["long"]!["description"]).toBe(`${"x".repeat(139)}…`);
  });
});

describe("bodies of bytes (issue 39, acceptance 4)", () => {
  const post = (operationId: string, type: string, schema: Json): Json => ({
    post: { operationId, requestBody: { content: { [type]: { schema } } }, responses: {} },
  });

  it("say that they are base64, whatever the document calls them: digitallocker", async () => {
    const odd = { properties: { "Content-Type": { type: "string" } } };
    const { gateway, call } = await start({
      "/a": post("upload", "application/octet-stream", odd),
      "/b": post("picture", "image/png", {}),
      "/c": post("unknown", "application/x-own", {}),
    });
    const bytes = { anyOf: [{ type: "string" }, { type: "object" }] };
    for (const name of ["upload", "picture", "unknown"]) {
      expect(toolOf(gateway, name).inputSchema).toMatchObject({ properties: { body: bytes } });
      expect((await call(name, { body: "eHh4" })).body.toString()).toBe("xxx");
    }
  });

  it("text is text, also where its schema names members: authentiq", async () => {
    const schema = { properties: { sub: { type: "string" } } };
    const { call } = await start({
      "/a": post("token", "application/jwt", schema),
      "/b": post("form", "application/x-own", schema),
    });
    expect((await call("token", { sub: "x" })).body.toString()).toBe('{"sub":"x"}');
    expect((await call("form", { sub: "x" })).body.toString()).toBe('{"sub":"x"}');
  });
});
