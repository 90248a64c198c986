import { isObject } from "propylon/kit";
import { reasonIn } from "./provider-words.ts";

/** Whether a member `error` tells of a failure: some servers write it into every answer, as null, an empty text or an empty map. */
export function isFailure(error: unknown): boolean {
  if (isObject(error)) return Object.keys(error).length > 0;
  return error !== undefined && error !== null && error !== "" && error !== false;
}

/** A failure within an answer, as an event that no package takes for a piece of one: its reason is read from there. Nothing follows. */
export class SaidFailure {
  readonly detail: string | undefined;

  constructor(said: unknown) {
    this.detail = reasonIn(said);
  }
}
