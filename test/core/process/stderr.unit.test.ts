import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { StderrLog } from "../../../core/kit/process/stderr.ts";

function lastLine(...lines: readonly string[]): string {
  const log = new StderrLog(pino({ enabled: false }), "search");
  log.push(Buffer.from(`${lines.join("\n")}\n`));
  return log.lastLine;
}

describe("the last words of a child", () => {
  it("are its last line that says anything", () => {
    expect(lastLine("Starting.", "Error: no token", "", "")).toBe("Error: no token");
    expect(lastLine("npm error code E404", "npm error 404 Not Found", "Then it ran.")).toBe(
      "Then it ran.",
    );
  });

  it("are why npm failed, and not where its log lies", () => {
    const log = "npm error A complete log of this run can be found in: /home/me/.npm/_logs/1.log";
    const missing = "npm error 404 Not Found - GET https://registry.example/shop";
    expect(lastLine("npm warn old", "npm error code E404", missing, "npm error 404", log)).toBe(
      missing,
    );
    const none = "npm error could not determine executable to run";
    expect(lastLine(none, log)).toBe(none);
    expect(lastLine(log)).toBe(log);
  });
});
