import type { Tool } from "propylon";
import { describe, expect, it } from "vitest";
import { CONVERTERS, importDocument, requestOf } from "./open-webui.ts";
import { get, startReal } from "./support.ts";

describe("Open WebUI", () => {
  it("M157: imports the tools of eight servers and nothing else, and calls them", async () => {
    const { url, gateway, names } = await startReal();
    const documents = { "": (await get(`${url}/openapi.json`)).body };
    for (const name of names)
      Object.assign(documents, { [name]: (await get(`${url}/${name}/openapi.json`)).body });
    for (const [server, document] of Object.entries<Record<string, unknown>>(documents))
      for (const converter of CONVERTERS) {
        const imported = importDocument(converter, document);
        const listed = [...gateway.servers.values()]
          .filter(({ name }) => server === "" || name === server)
          .flatMap(({ catalogue }) => catalogue.tools);
        const tools = imported.map(({ parameters: { properties, required } }) => ({
          properties: Object.keys(properties),
          required,
        }));
        expect({ server, converter, tools }).toEqual({
          server,
          converter,
          tools: listed.map(wanted),
        });
        expect(new Set(imported.map(({ name }) => name)).size).toBe(listed.length);
        for (const { name } of imported) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        // Models' interfaces take a schema as a tree.
        expect(JSON.stringify(imported)).not.toContain("$ref");
      }
    const call = async (server: string, name: string, args: Record<string, unknown>) => {
      const document = documents[server as ""];
      return (await fetch(requestOf(document, `${url}/${server}`, name, args))).json();
    };
    expect(await call("memory", "read_graph", {})).toMatchObject({ ok: true });
    const tree = { label: "a", children: [{ label: "b" }] };
    expect(await call("recursive", "plant", { tree })).toMatchObject({ result: { tree } });
    expect(await call("recursive", "now", {})).toMatchObject({ result: "now {}" });
  });
});

/** What a model is to be offered of a tool's arguments. */
function wanted({ inputSchema }: Tool): { properties: string[]; required: string[] } {
  const definitions = inputSchema["definitions"] as
    | Record<string, Record<string, unknown>>
    | undefined;
  const schema = definitions?.["Condition"] ?? inputSchema;
  const properties = Object.keys(schema["properties"] ?? {});
  return {
    properties,
    required: properties.length > 0 ? ((schema["required"] ?? []) as string[]) : [],
  };
}
