import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url).pathname;
/** The one file that makes a `ref` of a kind and an id. */
const MAKER = "core/kit/principal.ts";

/** What a reader of `Principal.id` looks like; the linter has no rule for members of a type. */
const READS = [
  /\b(?:principal|identity|owner|asker|caller)(?:\?|!)?\.id\b/i,
  /\b(?:principal|owner|asker|identity)\s*:\s*\{[^}]*\bid\b(?!\s*:)[^}]*\}/i,
  /\{[^{}]*\bid\b[^{}]*\}\s*:\s*(?:Principal|Identity)\b/,
  /\{[^{}]*\bid\b[^{}]*\}\s*=\s*[\w.]*(?:principal|owner|asker)\b/i,
];

function findReads(source: string): readonly string[] {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
  return READS.flatMap((form) => code.match(new RegExp(form, `${form.flags}g`)) ?? []);
}

it.each([
  "if (session.principal.id === principal.id) return;",
  "const isOurs = owner?.id === other;",
  "function keyOf({ kind, id }: Principal): string {",
  "calling({ principal: { id } }: Call): void {",
  "const { id, roles } = event.context.principal;",
])("the rule finds: %s", (source) => {
  expect(findReads(source)).not.toEqual([]);
});

it("T4: no source reads the id of a principal; its ref is what is compared, kept and shown", () => {
  const files = ["core", "plugins", "playground"]
    .flatMap((folder) =>
      readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" }).map(
        (file) => `${folder}/${file}`,
      ),
    )
    .filter((file) => /^(?!.*node_modules).*\.ts$/.test(file) && file !== MAKER);
  const found = files.flatMap((file) =>
    findReads(readFileSync(ROOT + file, "utf8")).map((read) => `${file}: ${read}`),
  );
  expect(files.length).toBeGreaterThan(300);
  expect(found).toEqual([]);
});
