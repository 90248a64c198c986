import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startApi } from "./api.ts";
import { callPets, startPets } from "./kit.ts";

describe("a tool call becomes a request", () => {
  it("writes every style of query, header and cookie parameters", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    await callPets(gateway, "list_pets", {
      tags: ["a b", "c&d"],
      ids: [1, 2],
      piped: ["x", "y|z"],
      spaced: ["x", "y z"],
      filter: { owner: { name: "Ann" }, age: [1, 2] },
      where: { city: "Köln", open: true },
      query: { deep: [1] },
      session: "s;t",
      trace: "t1",
      limit: 5,
    });
    const { url, headers } = api.received[0]!;
    expect(url.split("?")[0]).toBe("/v1/pets");
    expect(url.split("?")[1]!.split("&")).toEqual([
      "tags=a%20b",
      "tags=c%26d",
      "ids=1,2",
      "piped=x%7Cy%7Cz",
      "spaced=x%20y%20z",
      "filter%5Bowner%5D%5Bname%5D=Ann",
      "filter%5Bage%5D%5B0%5D=1",
      "filter%5Bage%5D%5B1%5D=2",
      "city=K%C3%B6ln",
      "open=true",
      "query=%7B%22deep%22%3A%5B1%5D%7D",
      "limit=5",
    ]);
    expect(headers).toMatchObject({ trace: "t1", cookie: "session=s%3Bt" });
  });

  it("leaves reserved characters where the document allows them, but for those that would end the value", async () => {
    const parameters = [
      { name: "path", in: "query", allowReserved: true, schema: { type: "string" } },
      { name: "plain", in: "query", schema: { type: "string" } },
    ];
    const paths = { "/a": { get: { operationId: "a", parameters, responses: {} } } };
    const info = { title: "t", version: "1" };
    const api = await startApi(JSON.stringify({ openapi: "3.1.0", info, paths }));
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const value = "a/b:c?d@e!$'()*,;[x]&admin=1#f+g h%2F";
    await callPets(gateway, "a", { path: value, plain: "a/b" });
    const { url } = api.received[0]!;
    expect(url).toBe("/a?path=a/b:c?d@e!$'()*,;%5Bx%5D%26admin%3D1%23f%2Bg%20h%252F&plain=a%2Fb");
    expect(new URL(url, "http://x").searchParams.get("path")).toBe(value);
  });

  it("writes every style of path parameters", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    await callPets(gateway, "styles", {
      list: ["a", "b/c"],
      label: ["a", "b"],
      matrix: ["a", "b"],
      object: { x: "1", y: "2" },
    });
    expect(api.received[0]!.url).toBe("/v1/paths/a,b%2Fc/.a,b/;matrix=a;matrix=b/x=1,y=2");
  });

  it("writes JSON, forms, multipart with files, and text", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    await callPets(gateway, "addPet", { name: "Rex", born: null });
    await callPets(gateway, "form", { a: "1&2", b: ["x", "y"] });
    const file = Buffer.from([0, 255, 13, 10]);
    await callPets(gateway, "addPhoto", { id: "7", caption: "me", file: file.toString("base64") });
    await callPets(gateway, "note", { body: "hello" });
    const [json, form, photo, note] = api.received;
    expect(json!.headers["content-type"]).toBe("application/json");
    expect(JSON.parse(json!.body.toString())).toEqual({ name: "Rex", born: null });
    expect(form!.headers["content-type"]).toBe("application/x-www-form-urlencoded");
    expect(form!.body.toString()).toBe("a=1%262&b=x&b=y");
    const parts = await new Response(new Uint8Array(photo!.body), {
      headers: { "content-type": photo!.headers["content-type"]! },
    }).formData();
    expect(parts.get("caption")).toBe("me");
    expect(Buffer.from(await (parts.get("file") as File).arrayBuffer())).toEqual(file);
    expect(photo!.url).toBe("/v1/pets/7/photo");
    expect(note!.headers["content-type"]).toBe("text/plain");
    expect(note!.body.toString()).toBe("hello");
  });

  it("sends the operator's headers, and nothing of the client's request (T1)", async () => {
    const api = await startApi();
    const { client } = await startPets({
      spec: `${api.origin}/openapi.yaml`,
      headers: { Authorization: "Bearer operator", "X-Team": "a" },
    });
    await client.callTool({ name: "list_pets", arguments: { Authorization: "Bearer mine" } });
    const { headers, url } = api.received[0]!;
    expect(headers).toMatchObject({ authorization: "Bearer operator", "x-team": "a" });
    expect(JSON.stringify(headers)).not.toMatch(/mine|mcp-/i);
    expect(url).toBe("/v1/pets");
  });

  it("refuses what would add headers or leave the path, before anything is sent", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const wrong: [string, Record<string, unknown>, RegExp][] = [
      ["list_pets", { trace: "a\r\nx-admin: 1" }, /"trace" has characters/],
      ["getPet", { id: ".." }, /"id" must not be empty/],
      ["getPet", { id: "." }, /"id" must not be empty/],
      ["getPet", { id: "" }, /"id" must not be empty/],
      ["getPet", {}, /"id" is missing/],
      ["getPet", { id: "\ud800" }, /not valid Unicode/],
      ["addPhoto", { id: "1", file: "not base64!" }, /"file" must be bytes as base64/],
    ];
    for (const [name, args, words] of wrong) {
      const result = await callPets(gateway, name, args);
      expect(result["isError"]).toBe(true);
      expect(JSON.stringify(result["content"])).toMatch(
        new RegExp(words.source.replaceAll('"', String.raw`\\"`)),
      );
    }
    expect(api.received).toEqual([]);
  });

  it("keeps a path value in its segment and every value as it was, for any text", async () => {
    const api = await startApi();
    const { gateway } = await startPets({ spec: `${api.origin}/openapi.yaml` });
    const text = fc
      .oneof(
        fc.string({ unit: "binary" }),
        fc.constantFrom("../x", "%2e%2e", "a/b", "..%2f", ";;", "?#", "..."),
      )
      .filter(
        (value) => value !== "" && value !== "." && value !== ".." && !/\p{Surrogate}/u.test(value),
      );
    await fc.assert(
      fc.asyncProperty(text, fc.array(text, { minLength: 1, maxLength: 3 }), async (id, tags) => {
        api.received.length = 0;
        await callPets(gateway, "getPet", { id });
        await callPets(gateway, "list_pets", { tags });
        const path = api.received[0]!.url;
        expect(path.split("/")).toHaveLength(4);
        expect(new URL(path, api.origin).pathname.startsWith("/v1/pets/")).toBe(true);
        expect(decodeURIComponent(path.slice("/v1/pets/".length))).toBe(id);
        const query = new URL(api.received[1]!.url, api.origin).searchParams;
        expect(query.getAll("tags")).toEqual(tags);
      }),
      { numRuns: 150 },
    );
  });
});
