import fc from "fast-check";
import { expect, it } from "vitest";
import { readEventStream } from "../../../plugins/conformance/runtime/stream.ts";

const working = { taskId: "t", status: { state: "working" } };
const artifact = { taskId: "t", artifact: { parts: [{ text: "a\nb" }] } };
const task = { id: "t", status: { state: "submitted" } };
const frames = (...events: object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

it("R041, R042: reads the events of A2A 1.0 and those of 0.3", () => {
  const expected = [{ task }, { statusUpdate: working }, { artifactUpdate: artifact }];
  expect(readEventStream(frames(...expected))).toEqual(expected);
  const old = [
    { kind: "task", ...task },
    { kind: "status-update", ...working },
    { kind: "artifact-update", ...artifact },
  ];
  expect(readEventStream(frames(...old))).toMatchObject(expected);
});

it("reads them with any line end, comments, names, and data over several lines", () => {
  const pretty = JSON.stringify({ statusUpdate: working }, null, 2)
    .split("\n")
    .map((line) => `data:${line}`)
    .join("\n");
  const text = `\uFEFF: hello\n\nevent: message\nid: 1\n${pretty}\n\nretry: 5\n\n`;
  for (const end of ["\n", "\r\n", "\r"])
    expect(readEventStream(text.replaceAll("\n", end))).toEqual([{ statusUpdate: working }]);
});

it("says which event is none of the contract", () => {
  const wrong = [
    { statusUpdate: { ...working, status: { state: "TASK_STATE_WORKING" } } },
    { kind: "status-update", status: { state: "working" } },
    { kind: "toString" },
    {},
    [],
  ];
  for (const event of wrong)
    expect(() => readEventStream(frames(event))).toThrow(
      `Not an event of a task: ${JSON.stringify(event)}`,
    );
});

it("ends on any text with events or a deviation", () => {
  const pieces = fc.constantFrom(
    "data:",
    "\n",
    "\r",
    "\n\n",
    " ",
    "{}",
    frames({ task }),
    "x",
    ":",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(pieces).map((all) => all.join("")),
      ),
      (text) => {
        const outcome = attempt(() => readEventStream(text));
        expect(Array.isArray(outcome) || (outcome as Error).name === "Deviation").toBe(true);
      },
    ),
  );
});

function attempt(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
