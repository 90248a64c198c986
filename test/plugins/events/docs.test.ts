import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { KINDS } from "../../../plugins/events/kinds.ts";
import { optionsSchema } from "../../../plugins/events/options.ts";

const read = (path: string): string =>
  readFileSync(new URL(`../../../docs/${path}`, import.meta.url), "utf8");

it("M154: a design note decides wire format, ids, ring, resume, backpressure and permissions", () => {
  const note = read("decisions/0011-event-channel.md");
  for (const part of [
    "Decided",
    "Ids",
    "Ring",
    "Resume",
    "Backpressure",
    "Permissions",
    "Rejected",
  ])
    expect(note).toContain(`**${part}.**`);
  expect(read("decisions/README.md")).toContain("0011-event-channel.md");
});

it("the page has every event and every option", () => {
  const page = read("plugins/events.md");
  for (const kind of [...KINDS, "hello", "gap", "overflow", "closing"])
    expect(page).toMatch(new RegExp(`^\\| \`${kind}\``, "m"));
  for (const option of Object.keys(optionsSchema.shape))
    expect(page).toMatch(new RegExp(`^\\| \`${option}\``, "m"));
});
