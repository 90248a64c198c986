import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../kit/folder.ts";
import { takeOver } from "./takeover.ts";

describe("any servers", () => {
  // What a .env can hold: see the failure for values with all kinds of quotes.
  const text = fc
    .oneof(
      fc.string({ unit: "grapheme", maxLength: 30 }),
      fc.string({ unit: fc.constantFrom(..."$${}:-#=\\'\" \t\nnaÄ/@".split("")), maxLength: 12 }),
    )
    .filter((value) => !value.includes("`") && !/\$\{/.test(value));
  const secret = fc
    .tuple(text, fc.stringMatching(/^[0-9a-f]{24}$/))
    .map(([head, tail]) => head + tail);
  const map = fc.dictionary(fc.stringMatching(/^[A-Za-z_][\w-]{0,12}$/), secret, { maxKeys: 3 });
  const process_ = fc.record(
    {
      command: text.filter((value) => value !== ""),
      args: fc.array(text, { maxLength: 4 }),
      env: map,
      type: fc.constant("stdio"),
      disabled: fc.boolean(),
      autoApprove: fc.array(text),
    },
    { requiredKeys: ["command"] },
  );
  const remote = fc.record(
    {
      url: fc.webUrl({ withQueryParameters: true }),
      headers: map,
      type: fc.constantFrom("http", "sse"),
    },
    { requiredKeys: ["url"] },
  );
  const servers = fc.dictionary(fc.string({ maxLength: 12 }), fc.oneof(process_, remote), {
    minKeys: 1,
    maxKeys: 4,
  });

  it("load back as they were, with no secret in gateway.yaml and no warning", async () => {
    const folder = makeFolder();
    await fc.assert(
      fc.asyncProperty(servers, async (given) => {
        const result = await takeOver("mcp.json", JSON.stringify({ mcpServers: given }), folder);
        const { project, loaded, yaml } = result;
        expect(loaded.warnings).toEqual([]);
        const expected = Object.values(JSON.parse(JSON.stringify(given)) as typeof given);
        expect(project.imported).toHaveLength(expected.length);
        const back = project.imported.map((name) => loaded.config.values.servers[name]);
        for (const [index, entry] of expected.entries()) {
          const { args: listed, env, url, headers } = entry as Record<string, unknown>;
          const line = String((entry as Record<string, unknown>)["command"]);
          // A command line such as "npx -y foo" is taken apart.
          const isLine = /^\s*[\w@.+-]+\s+\S/.test(line);
          const [command, ...words] = isLine ? line.trim().split(/\s+/) : [line];
          const args = [...words, ...((listed as string[] | undefined) ?? [])];
          expect(back[index]).toMatchObject(
            url === undefined ? { command, args, env: env ?? {} } : { url, headers: headers ?? {} },
          );
          const hidden = Object.values((env ?? headers ?? {}) as Record<string, string>);
          for (const value of hidden) expect(yaml).not.toContain(value.slice(-24));
        }
      }),
      { numRuns: 100 },
    );
  });
});
