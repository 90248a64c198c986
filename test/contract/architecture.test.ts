import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { STAGES } from "../../core/index.ts";
import { roomsOfCore } from "./floors.ts";

const PAGE = readFileSync("docs/architecture.md", "utf8");
const [CALL = ""] = /(?<=```mermaid\n)sequenceDiagram\n[\s\S]*?(?=```)/.exec(PAGE) ?? [];

it("the table has every folder of core, and no other", () => {
  const told = [...PAGE.matchAll(/^\| `(\w+)` /gm)].map(([, name]) => name!);
  expect(told.toSorted()).toEqual(roomsOfCore().toSorted());
});

it("in the picture of a call, it passes the stages in their order", () => {
  expect(CALL).toContain(`P->>P: ${STAGES.join(", ")}\n`);
});

it("names six files to read, each at most 400 lines", () => {
  const files = [...PAGE.matchAll(/^\d\. \[`([^`]+\.ts)`\]\(\.\.\/\1\)/gm)].map(
    ([, path]) => path!,
  );
  expect(files).toHaveLength(6);
  for (const file of files)
    expect({ file, isShort: readFileSync(file, "utf8").split("\n").length <= 401 }).toEqual({
      file,
      isShort: true,
    });
});
