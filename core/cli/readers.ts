import { parseDuration } from "../config/units.ts";
import { GatewayError } from "../errors.ts";
import type { FlagKind, FlagReader } from "../plugin/command.ts";

/** How the text of each kind of flag is read. */
export const READERS: Readonly<Record<FlagKind, FlagReader>> = {
  port: readPort,
  duration: readDuration,
  url: readUrl,
  key: readKey,
  variable: readVariable,
};

/** Whether a text is a whole http or https URL. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function readPort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new Error("It must be a number from 0 to 65535.");
  return Number(text);
}

function readDuration(text: string): string {
  if (parseDuration(text, "s") === undefined)
    throw new Error("It must be a duration such as 30s, 1500ms or 10m.");
  return text;
}

function readUrl(text: string): string {
  if (isHttpUrl(text)) return text;
  throw new Error("It must be a URL such as http://127.0.0.1:8080.");
}

/** A key with a line break at its end, for example, cannot be sent. */
function readKey(text: string, flag: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  throw new GatewayError("invalid", `The key of ${flag} has characters that no header can hold.`, {
    hint: "Look for a line break, also where it comes from a variable.",
  });
}

function readVariable(text: string): readonly [name: string, value: string] {
  const [, name, given] = /^([^=\0]+)(?:=([^\0]*))?$/s.exec(text) ?? [];
  if (name === undefined) throw new Error("It must be NAME or NAME=value.");
  const value = given ?? process.env[name];
  if (value === undefined) throw new Error(`The variable ${name} is not set.`);
  return [name, value];
}
