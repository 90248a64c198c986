import { expect, it } from "vitest";
import { citations, citationsIn, deferred, requirements, standing } from "./contract.mjs";

const known = new Set(requirements.map(({ id }) => id));

it("cites only requirements that exist", () => {
  const unknown = [...citations()]
    .filter(([id]) => !known.has(id))
    .map(([id, files]) => `${id} in ${[...files].join(", ")}`);
  expect(unknown).toEqual([]);
});

it("defers only requirements that exist, each with a reason, and none that a test cites", () => {
  const cited = citations();
  const wrong = Object.entries(deferred).filter(
    ([id, reason]) => !known.has(id) || cited.has(id) || reason.trim().length < 20,
  );
  expect(wrong).toEqual([]);
});

it("holds every id of the five sources once, each with an owner", () => {
  expect(known.size).toBe(requirements.length);
  expect(requirements.filter(({ plugins }) => plugins.length === 0)).toEqual([]);
  const count = (source: string): number =>
    requirements.filter(({ id }) => id.startsWith(source)).length;
  expect(["P", "R", "M", "T", "A"].map(count)).toEqual([129, 89, 160, 191, 63]);
});

it("gives every requirement one state", () => {
  const states = standing(new Map([["M012", new Set()]]));
  expect(states.find(({ id }) => id === "M012")?.state).toBe("cited");
  expect(states.find(({ id }) => id === "A060")?.state).toBe("deferred");
  expect(states.find(({ id }) => id === "P001")?.state).toBe("open");
});

// Written in pieces, so that the scanner does not take these samples for tests.
const call = (head: string, title: string): string => `${head}(${title}, () => {});`;

it.each([
  [call("it", '"M106: an unchanged list"'), ["M106"]],
  [call("test", "'P001, P002: both'"), ["P001", "P002"]],
  [call('it.each([["a", f("b")]])', "`M081: $code`"), ["M081"]],
  [call("it.concurrent.skipIf(!root)", '"keeps \\"it\\" (T011)"'), ["T011"]],
  [call("it.skip", '"M106: not run"'), []],
  [call("describe", '"M106: a group asserts nothing"'), []],
  ["// M106 in a comment", []],
])("reads citations from titles alone: %s", (text, ids) => {
  expect(citationsIn(text)).toEqual(ids);
});
