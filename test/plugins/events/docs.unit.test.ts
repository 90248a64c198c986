import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { events as ofConsole } from "../../../plugins/console/events.ts";
import { events as ofHealth } from "../../../plugins/health/events.ts";
import { events as ofTeams } from "../../../plugins/team-auth/events.ts";
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

it("the page has every kind of our plugins, with who may see it and what is in it", () => {
  const page = read("plugins/events.md");
  for (const { kind, access, data } of [...ofConsole, ...ofHealth, ...ofTeams]) {
    const [, role, members] = new RegExp(`^\\| \`${kind}\` +\\| (.*?) +\\| (.*) \\|$`, "m").exec(
      page,
    )!;
    expect(role!.trim()).toBe(access === "viewer" ? "" : `\`${access}\``);
    for (const member of Object.keys(data.shape)) expect(members).toContain(`\`${member}\``);
  }
});
