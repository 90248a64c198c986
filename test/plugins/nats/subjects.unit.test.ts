import { describe, expect, it } from "vitest";
import { Subjects } from "../../../plugins/nats/store/subjects.ts";

const subjects = new Subjects("p");
const CHARACTERS = "/=._->*~%$a0B\"'\\:#@ ".replace(" ", "");

function randomKey(): string {
  const length = 1 + Math.floor(Math.random() * 24);
  return Array.from(
    { length },
    () => CHARACTERS[Math.floor(Math.random() * CHARACTERS.length)],
  ).join("");
}

const keys = [
  ...new Set(Array.from({ length: 2_000 }, randomKey)),
  "a/b//c/",
  "/",
  "//",
  "=_",
  "=",
];

/** Whether a server sends a subject to who asked for a filter that ends in ">". */
function isWithin(subject: string, filter: string): boolean {
  const begin = filter.slice(0, -1);
  return subject.startsWith(begin) && subject.length > begin.length;
}

describe("subjects of keys", () => {
  it("are subjects: no empty token, no wildcard, no space", () => {
    for (const key of keys) {
      const tokens = subjects.value("a/b.c", key).split(".");
      expect(tokens.length).toBeLessThanOrEqual(12);
      for (const token of tokens) expect(token).toMatch(/^[^\s*>]+$/);
    }
  });

  it("lead back to the key, and are those of no other", () => {
    for (const key of keys) expect(subjects.keyOf(subjects.value("b", key))).toBe(key);
    expect(new Set(keys.map((key) => subjects.value("b", key))).size).toBe(new Set(keys).size);
  });

  it("are among those of every prefix of their key", () => {
    for (const key of keys)
      for (let length = 0; length <= key.length; length++) {
        const filter = subjects.values("b", key.slice(0, length));
        expect({ key, filter, found: isWithin(subjects.value("b", key), filter) }).toMatchObject({
          found: true,
        });
      }
  });

  it("leave what lies in another folder out", () => {
    expect(isWithin(subjects.value("b", "task/1"), subjects.values("b", "job/"))).toBe(false);
    expect(isWithin(subjects.value("b/", "task/1"), subjects.values("b", "task/"))).toBe(false);
  });

  it("are short enough for the longest name and key", () => {
    expect(subjects.value("/".repeat(128), "*".repeat(512)).length).toBeLessThan(2_000);
  });

  it("are the key's in what is told of it, too", () => {
    const value = subjects.value("b", "a/.*b");
    const { src, dest } = subjects.toldValues;
    expect(subjects.keyOf(value.replace(src.slice(0, -1), dest.slice(0, -1)))).toBe("a/.*b");
  });
});
