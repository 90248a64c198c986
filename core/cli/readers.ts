import { InvalidArgumentError } from "commander";
import { parseDuration } from "../config/units.ts";
import { GatewayError } from "../errors.ts";

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

/** Whether a text is a whole http or https URL. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** @throws {InvalidArgumentError} for anything but an http or https URL */
export function readUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new InvalidArgumentError("It must be a URL such as http://127.0.0.1:8080.");
}

/** Of a whole number in a range; @throws {InvalidArgumentError} for anything else */
export function countReader(least: number, most: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (/^\d{1,9}$/.test(text) && count >= least && count <= most) return count;
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  };
}

/**
 * Of a bearer token. Not told as an invalid argument: Commander would show the value.
 * @throws {GatewayError} `invalid` for one that no HTTP header can hold, such as one with a line break at its end
 */
export function keyReader(flag: string): (text: string) => string {
  return (text) => {
    if (/^[\x20-\x7e]*$/.test(text)) return text;
    throw new GatewayError(
      "invalid",
      `The key of ${flag} has characters that no header can hold.`,
      {
        hint: "Look for a line break, also where it comes from a variable.",
      },
    );
  };
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
