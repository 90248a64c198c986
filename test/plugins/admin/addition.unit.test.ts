import { describe, expect, it } from "vitest";
import { additionSchema, toEntry } from "../../../plugins/admin/addition.ts";

const sentence = (body: unknown): string => {
  const checked = additionSchema.safeParse(body);
  return checked.success
    ? ""
    : checked.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
};

describe("additionSchema", () => {
  it("M136: takes a command or a url, and writes down only what was sent", () => {
    const stdio = additionSchema.parse({ name: "memory", command: "npx", args: ["-y", "m"] });
    expect(toEntry(stdio)).toEqual({ command: "npx", args: ["-y", "m"] });
    const http = additionSchema.parse({
      name: "search",
      url: "http://localhost:1/mcp",
      type: "streamable_http",
      enabled: false,
    });
    expect(toEntry(http)).toEqual({
      url: "http://localhost:1/mcp",
      type: "streamable_http",
      enabled: false,
    });
  });

  it.each([
    [{ name: "a" }, /either a command or a url/],
    [{ name: "a", command: "x", url: "http://h/" }, /either a command or a url/],
    [{ name: "_meta", command: "x" }, /name: is reserved/],
    [{ name: "a b", command: "x" }, /name: must be 1 to 64/],
    [{ name: "../a", command: "x" }, /name: must be 1 to 64/],
    [{ command: "x" }, /name/],
    [{ name: "a", command: "npx -y m" }, /command: must be the executable alone/],
    [{ name: "a", command: "" }, /command/],
    [{ name: "a", command: "x", args: "y" }, /args/],
    [
      { name: "a", command: "x", env: { NODE_OPTIONS: "--require /tmp/x" } },
      /env: must not be set here/,
    ],
    [{ name: "a", command: "x", cwd: "/" }, /cwd: must not be set here/],
    [{ name: "a", command: "x", args: ["${API_KEY}"] }, /args.0: must not refer to variables/],
    [{ name: "a", url: "http://h/?k=${API_KEY}" }, /url: must not refer to variables/],
    [
      { name: "a", url: "http://h/", headers: { authorization: "Bearer ${KEY}" } },
      /must not refer to variables/,
    ],
    [
      { name: "a", url: "http://h/", headers: { "x-a": "1\r\nx-b: 2" } },
      /headers.x-a: must not hold line breaks/,
    ],
    [{ name: "a", url: "http://h/", headers: { "x a": "1" } }, /headers/],
    [{ name: "a", url: "file:///etc/passwd" }, /url: must be an http/],
    [{ name: "a", url: "http://h/", type: "stdio" }, /type: must be streamable-http or sse/],
    [{ name: "a", command: "x", colour: "red" }, /colour/],
    ["a", /./],
    [null, /./],
    [[], /expected object/],
  ])("M084: refuses %j", (body, words) => {
    expect(sentence(body)).toMatch(words);
  });
});
