import { InvalidArgumentError } from "commander";
import { parseDuration } from "../config/units.ts";

/** A flag that may be given again and again. */
export function collect(word: string, before: readonly string[] = []): readonly string[] {
  return [...before, word];
}

/** @throws {InvalidArgumentError} for what is no port */
export function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError("It must be a number from 0 to 65535.");
  return Number(text);
}

/** @throws {InvalidArgumentError} for what is no duration */
export function readDuration(text: string): string {
  if (parseDuration(text, "s") === undefined)
    throw new InvalidArgumentError("It must be a duration such as 30s, 1500ms or 10m.");
  return text;
}
