import { InvalidArgumentError } from "commander";
import { parseDuration } from "../config/units.ts";

/** A flag that may be given again and again. */
export function collect(word: string, before: readonly string[] = []): readonly string[] {
  return [...before, word];
}

/**
 * A variable for a child, that may be given again and again: `NAME=value`, or `NAME` for our own value.
 * @throws {InvalidArgumentError} for an invalid name, and for a variable that is not set
 */
export function readVariable(
  word: string,
  before: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const [, name, given] = /^([^=\0]+)(?:=([^\0]*))?$/s.exec(word) ?? [];
  if (name === undefined) throw new InvalidArgumentError("It must be NAME or NAME=value.");
  const value = given ?? process.env[name];
  if (value === undefined) throw new InvalidArgumentError(`The variable ${name} is not set.`);
  return { ...before, [name]: value };
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
