import openapi from "../../../plugins/openapi/index.ts";
import rest from "../../../plugins/rest/index.ts";
import { describe, expect, it } from "vitest";
import { documented, startFieldApi } from "../../fixtures/field/api.ts";
import { callText, startField } from "./kit.ts";

describe("a success that holds a number which JavaScript does not", () => {
  const ID = { id: { type: "integer", format: "int64" }, state: { type: "string" } };

  it.each([
    ["a 64-bit id", '{"id":1234567890123456789,"state":"created"}', "1234567890123456789"],
    ["one in a list of a map", '{"list":[{"id":-9007199254740993}]}', "-9007199254740993"],
    ["one above the largest float", '{"id":1.797e309}', "1.797e309"],
    [
      "one in nesting that is not read",
      `${'{"a":'.repeat(80)}9007199254740993${"}".repeat(80)}`,
      "9007199254740993",
    ],
  ])("mcp-03: %s is a success at both faces, and runs once each", async (_what, body, number) => {
    const api = await startFieldApi(
      { "/order": { post: documented("createOrder", ID, { required: ["id"] }) } },
      { "/order": [201, "application/json", body] },
    );
    const spec = `${api.origin}/openapi.json`;
    const { client, url } = await startField(
      { servers: { pet: { type: "openapi", spec } } },
      { plugins: [rest, openapi] },
    );
    await client.listTools();
    expect(await callText(client, "createOrder")).toBe(body);
    const response = await fetch(`${url}/pet/createOrder`, { method: "POST" });
    expect([response.status, await response.text()]).toEqual([
      200,
      expect.stringContaining(number),
    ]);
    expect(api.received).toHaveLength(2);
  });
});
