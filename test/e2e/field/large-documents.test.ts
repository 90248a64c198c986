import rest from "../../../plugins/rest/index.ts";
import { describe, expect, it } from "vitest";
import { startFieldApi } from "../../fixtures/field/api.ts";
import { callText, startField } from "./kit.ts";

const JSON_TYPE = "application/json";

describe("a document whose schemas refer to each other, as those of Stripe", () => {
  /** 60 objects, each of which has each of the others. */
  const WEB = 60;
  const ref = (at: number) => ({ $ref: `#/components/schemas/s${at}` });
  const schemas = Object.fromEntries(
    Array.from({ length: WEB }, (_, at) => [
      `s${at}`,
      {
        type: "object",
        description: "An object of the API. ".repeat(10),
        properties: Object.fromEntries(
          Array.from({ length: WEB }, (_each, to) => [`to${to}`, ref(to)]),
        ),
      },
    ]),
  );
  const content = (at: number) => ({ content: { [JSON_TYPE]: { schema: ref(at) } } });
  const paths = (make: (at: number) => object) =>
    Object.fromEntries(
      Array.from({ length: WEB }, (_, at) => [
        `/op${at}`,
        { post: { operationId: `op${at}`, responses: {}, ...make(at) } },
      ]),
    );
  const answering = paths((at) => ({
    responses: { "200": { description: "ok", ...content(at) } },
  }));
  const listed = async (document: object, more: object = {}) => {
    const api = await startFieldApi(document, {}, { components: { schemas } });
    const spec = `${api.origin}/openapi.json`;
    const { client } = await startField(
      { servers: { shop: { type: "openapi", spec, ...more } } },
      { plugins: [rest] },
    );
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(WEB);
    expect(await callText(client, "op7")).toBe("{}");
    expect(api.received.map(({ url }) => url)).toEqual(["/op7"]);
    const most = (key: "inputSchema" | "outputSchema"): number =>
      Math.max(...tools.map((tool) => JSON.stringify(tool[key] ?? {}).length));
    return { input: most("inputSchema"), output: most("outputSchema") };
  };

  it("rest-04: is listed and called by the official client, no answer described above 20 KB", async () => {
    expect((await listed(answering)).output).toBeLessThanOrEqual(20_480);
  });

  it("rest-04: so it is where the operator wants what the document says", async () => {
    const { output } = await listed(answering, { outputSchemas: "strict" });
    expect(output).toBeLessThanOrEqual(20_480);
  });

  it("rest-04: so it is where arguments refer to each other, none much above 64 KiB", async () => {
    const { input } = await listed(paths((at) => ({ requestBody: content(at) })));
    // The names of what is left out come on top.
    expect(input).toBeLessThan(70_000);
    expect(input).toBeGreaterThan(20_000);
  });
});
