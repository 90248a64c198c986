import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { parseText } from "../../../core/file/document.ts";
import { parseYaml } from "../../../core/file/yaml.ts";

const keys = (count: number): string =>
  Array.from({ length: count }, (_, at) => `k${at}: v`).join("\n");

/** Milliseconds of CPU time, of which other work on the machine takes none. */
function cost(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

describe("S1-3: a config with many keys", () => {
  it("is read in a time that grows with the text, keys that are there twice included", () => {
    const text = keys(30_000);
    const plain = cost(() => parseDocument(text, { uniqueKeys: false }));
    // The parser's own check takes twenty times as long as all the rest.
    expect(cost(() => parseYaml(text))).toBeLessThan(4 * plain);
    const { issues } = parseText(`${text}\nk7: again\na: { b: 1, b: 2 }\n`, "gateway.yaml");
    expect(issues.map(({ message, place }) => [message, place?.line])).toEqual([
      ["This key is there twice.", 30_001],
      ["This key is there twice.", 30_002],
    ]);
  });

  it("tells of a hundred keys that are there twice, not of all", () => {
    const text = "a: 1\n".repeat(30_000);
    expect(parseText(text, "gateway.yaml").issues).toHaveLength(100);
  });
});
