import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkCommand } from "../../../plugins/admin/command.ts";
import { optionsSchema } from "../../../plugins/admin/options.ts";

const none = optionsSchema.parse({});
const unsafe = optionsSchema.parse({ allowUnsafeCommands: true });
const listed = optionsSchema.parse({ allowedCommands: [["npx", "-y", "server-memory"]] });

describe("checkCommand", () => {
  it("M123: lets in a command that stands on the list, word for word", () => {
    expect(() => checkCommand(["npx", "-y", "server-memory"], listed)).not.toThrow();
  });

  it.each([
    [["npx", "-y", "server-memory", "--root"]],
    [["npx", "server-memory"]],
    [["npx", "-y", "server-memory "]],
    [["NPX", "-y", "server-memory"]],
    [["/tmp/npx", "-y", "server-memory"]],
  ])("M123: refuses %j, which is not on it", (argv) => {
    expect(() => checkCommand(argv, listed)).toThrow(/not on the list/);
  });

  it("refuses everything when nothing is allowed", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (argv) => {
        expect(() => checkCommand(argv, none)).toThrow(
          expect.objectContaining({ code: "invalid" }),
        );
      }),
    );
  });

  it("M147: allowUnsafeCommands lifts the list", () => {
    expect(() => checkCommand(["anything", "--at", "all"], unsafe)).not.toThrow();
  });

  it.each([
    ["npx", "-y", "any-package"],
    ["node", "/tmp/file.mjs"],
    ["sh", "script.sh"],
    ["docker", "run", "-v", "/:/host", "image"],
    ["ssh", "host", "id"],
    ["curl", "http://127.0.0.1/"],
    ["find", ".", "-exec", "id", ";"],
    ["xargs", "id"],
  ])("lets through with allowUnsafeCommands what its page says: %s %s", (...argv) => {
    expect(() => checkCommand(argv, unsafe)).not.toThrow();
    expect(() => checkCommand(argv, none)).toThrow(/not on the list/);
  });

  it.each([
    ["sh", "-c", "id"],
    ["/bin/bash", "-lc", "id"],
    ["env", "sh", "-c", "id"],
    ["node", "-e", "0"],
    ["node", "-pe", "0"],
    ["node", "--eval=0"],
    ["node", "--import", "data:text/javascript,0"],
    ["node", "-r", "./x.cjs"],
    ["python3.12", "-c", "0"],
    ["python", "-W", "ignore", "-cimport os"],
    ["perl", "-e0"],
    ["ruby", "-e", "0"],
    ["deno", "eval", "0"],
    ["npx", "-c", "id"],
    ["cmd.exe", "/c", "dir"],
    ["pwsh", "-Command", "id"],
  ])("M120: refuses code in arguments, even where every command is allowed: %s %s", (...argv) => {
    expect(() => checkCommand(argv, unsafe)).toThrow(/code in its arguments/);
  });

  it.each([
    ["node", "server.js"],
    ["npx", "-y", "@modelcontextprotocol/server-memory"],
    ["uvx", "mcp-server-time"],
    ["python", "-m", "server"],
    ["my-server", "-c", "config.yaml"],
  ])("takes an ordinary command: %s %s", (...argv) => {
    expect(() => checkCommand(argv, unsafe)).not.toThrow();
  });
});
